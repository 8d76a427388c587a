; for i in [0, 15): A[i] = ...; B[i] = A[i]. The two statements meet in A[i], so they may not
; change places.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const i Int)
(assert (and (<= 0 i) (< i 15)))
; the write A[i] and the read A[i] of one iteration touch one element
(assert (= i i))
(check-sat)
