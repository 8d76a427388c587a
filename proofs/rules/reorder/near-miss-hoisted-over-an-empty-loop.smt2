; for i in [0, n): if A[0] > 0.0: ... Above the loop n may be 0, and then A[0] is out of bounds.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const n Int)
(assert (<= 0 n))
(assert (not (and (<= 0 0) (< 0 n))))
(check-sat)
