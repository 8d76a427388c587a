; Equality is identity of values: one NaN, two zeros. IEEE a == a is false for NaN.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 8 24))
(declare-const a F)
(assert (not (fp.eq a a)))
(check-sat)
