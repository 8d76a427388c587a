; for i in [0, 15): A[i] = ...; B[i] = A[i + 1]. The two statements may change places: in one
; iteration they access different elements of A.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const i Int)
(assert (and (<= 0 i) (< i 15)))
; the write A[i] and the read A[(+ i 1)] of one iteration touch one element
(assert (= i (+ i 1)))
(check-sat)
