; A window of elements 4 to 7 does not meet the region of elements 0 to 3.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const a Int)
(declare-const y Int)
(assert (and (<= 0 a) (< a 4)))
(assert (and (<= 0 y) (< y 4)))
(assert (= (+ 4 a) y))
(check-sat)
