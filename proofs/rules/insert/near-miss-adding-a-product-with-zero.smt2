; Equality is identity of values: one NaN, two zeros. Overcompute through a product: x + 0.0 * w
; is not x if w may be infinite.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 8 24))
(declare-const x F)
(declare-const w F)
(define-fun pz () F (_ +zero 8 24))
(define-fun nz () F (_ -zero 8 24))
(assert (not (= x nz)))
(assert (not (= (fp.add RNE x (fp.mul RNE pz w)) x)))
(check-sat)
