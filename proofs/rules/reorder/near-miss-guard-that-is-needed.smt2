; The guard of a split that does not divide the extent is not.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const io Int)
(declare-const ii Int)
(assert (and (<= 0 io) (< io 4)))
(assert (and (<= 0 ii) (< ii 4)))
(assert (not (< (+ (* 4 io) ii) 15)))
(check-sat)
