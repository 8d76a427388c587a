; for i in [0, n): A[i] = ...; B[i] = A[i]. The loop may be split in two: the second half of an
; earlier iteration never meets the first half of a later one.
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
; the read A[i] and the write A[i2] touch one element
(assert (= i i2))
(check-sat)
