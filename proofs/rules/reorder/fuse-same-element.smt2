; for i: A[i] = ... then for j: B[j] = A[j]. Merged, an iteration still reads what was written.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const n Int)
(declare-const i Int)      ; an iteration of the second loop, moved up
(declare-const i2 Int)     ; a later iteration of the first loop, which now comes after it
(assert (and (<= 0 i) (< i n)))
(assert (and (<= 0 i2) (< i2 n)))
(assert (< i i2))
(assert (= i i2))
(check-sat)
