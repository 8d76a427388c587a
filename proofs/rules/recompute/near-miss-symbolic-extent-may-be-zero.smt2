; S(0) again after for x in [0, n): S(x): nothing may have run.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const n Int)
(assert (<= 0 n))
(assert (not (and (<= 0 0) (< 0 n))))
(check-sat)
