; Equality is identity of values: one NaN, two zeros. x + 0.0 is not x: take x = -0.0.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 8 24))
(declare-const x F)
(define-fun pz () F (_ +zero 8 24))
(assert (not (= (fp.add RNE x pz) x)))
(check-sat)
