; for i in [0, n): A[i] = ...; B[i] = A[i + 1]. What is read is overwritten by the next iteration;
; split in two, the loop would read the new value.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const n Int)
(declare-const i Int)      ; an earlier iteration of the second half
(declare-const i2 Int)     ; a later iteration of the first half
(assert (and (<= 0 i) (< i n)))
(assert (and (<= 0 i2) (< i2 n)))
(assert (< i i2))
; the read A[(+ i 1)] and the write A[i2] touch one element
(assert (= (+ i 1) i2))
(check-sat)
