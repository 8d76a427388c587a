; Equality is identity of values: one NaN, two zeros. A product has no such invariant: x * y may
; be -0.0 though x is not.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 8 24))
(declare-const x F)
(declare-const y F)
(define-fun nz () F (_ -zero 8 24))
(assert (not (= x nz)))
(assert (not (not (= (fp.mul RNE x y) nz))))
(check-sat)
