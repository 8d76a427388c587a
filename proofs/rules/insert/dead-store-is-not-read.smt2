; for i: B[i] = ...; C[i] = B[i + 8]; and later B[j] = ... for j in [0, 8): nothing in between
; reads what is overwritten.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const i Int)
(declare-const k Int)
(assert (and (<= 0 i) (< i 8)))
(assert (and (<= 0 k) (< k 8)))
(assert (= i (+ k 8)))
(check-sat)
