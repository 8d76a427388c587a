; For n a multiple of 4 the guard of a split by 4 is always true, n symbolic.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const n Int)
(declare-const io Int)
(declare-const ii Int)
(assert (and (<= 0 n) (= (mod n 4) 0)))
(assert (and (<= 0 io) (< io (div (+ n 3) 4))))
(assert (and (<= 0 ii) (< ii 4)))
(assert (not (< (+ (* 4 io) ii) n)))
(check-sat)
