; Bound above the guard, A[i] is out of bounds in the last iteration.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
; for i in [0, 9): if i < 8: B[i] = A[i] * A[i], where A has 8 elements
(declare-const i Int)
(assert (and (<= 0 i) (< i 9)))

(assert (not (and (<= 0 i) (< i 8))))
(check-sat)
