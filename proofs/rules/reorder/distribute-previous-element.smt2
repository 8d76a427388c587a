; for i in [0, n): A[i] = ...; B[i] = A[i - 1]. What is read was written by an earlier iteration,
; so the loop may be split in two.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const n Int)
(declare-const i Int)      ; an earlier iteration of the second half
(declare-const i2 Int)     ; a later iteration of the first half
(assert (and (<= 0 i) (< i n)))
(assert (and (<= 0 i2) (< i2 n)))
(assert (< i i2))
; the read A[(- i 1)] and the write A[i2] touch one element
(assert (= (- i 1) i2))
(check-sat)
