; Bound below the guard, A[i] is in bounds.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
; for i in [0, 9): if i < 8: B[i] = A[i] * A[i], where A has 8 elements
(declare-const i Int)
(assert (and (<= 0 i) (< i 9)))
(assert (< i 8))
(assert (not (and (<= 0 i) (< i 8))))
(check-sat)
