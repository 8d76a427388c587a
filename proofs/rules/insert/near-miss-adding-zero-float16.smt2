; Equality is identity of values: one NaN, two zeros. Without the hypothesis x + 0.0 is not x
; (float16).
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 5 11))
(declare-const x F)
(define-fun pz () F (_ +zero 5 11))
(assert (not (= (fp.add RNE x pz) x)))
(check-sat)
