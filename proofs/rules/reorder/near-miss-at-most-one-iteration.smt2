; A range of extent at most 1 may also be empty.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const a Int)
(declare-const n Int)
(declare-const i Int)
(assert (<= n 1))
; the iterations of [a, a + n) are not exactly {a}
(assert (distinct (and (<= a i) (< i (+ a n))) (= i a)))
(check-sat)
