; Equality is identity of values: one NaN, two zeros. a - a is not 0.0: infinity minus infinity is
; NaN.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 8 24))
(declare-const a F)
(define-fun pz () F (_ +zero 8 24))
(assert (not (= (fp.sub RNE a a) pz)))
(check-sat)
