; Equality is identity of values: one NaN, two zeros. x * 0.0 is not 0.0: NaN and infinities are
; lost, and the sign of zero.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 8 24))
(declare-const x F)
(define-fun pz () F (_ +zero 8 24))
(assert (not (= (fp.mul RNE x pz) pz)))
(check-sat)
