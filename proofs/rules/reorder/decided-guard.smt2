; The guard of a split that divides the extent is always true.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const io Int)
(declare-const ii Int)
(assert (and (<= 0 io) (< io 4)))
(assert (and (<= 0 ii) (< ii 4)))
(assert (not (< (+ (* 4 io) ii) 16)))
(check-sat)
