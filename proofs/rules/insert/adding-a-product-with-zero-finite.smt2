; Equality is identity of values: one NaN, two zeros. x + 0.0 * w is x if x is not -0.0 and w is
; finite.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 8 24))
(declare-const x F)
(declare-const w F)
(define-fun pz () F (_ +zero 8 24))
(define-fun nz () F (_ -zero 8 24))
(assert (not (= x nz)))
(assert (not (or (fp.isNaN w) (fp.isInfinite w))))
(assert (not (= (fp.add RNE x (fp.mul RNE pz w)) x)))
(check-sat)
