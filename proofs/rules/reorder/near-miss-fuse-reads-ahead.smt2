; for i: A[i] = ... then for j: B[j] = A[j + 1]. Merged, the read comes before the write.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const n Int)
(declare-const i Int)      ; an iteration of the second loop, moved up
(declare-const i2 Int)     ; a later iteration of the first loop, which now comes after it
(assert (and (<= 0 i) (< i n)))
(assert (and (<= 0 i2) (< i2 n)))
(assert (< i i2))
(assert (= (+ i 1) i2))
(check-sat)
