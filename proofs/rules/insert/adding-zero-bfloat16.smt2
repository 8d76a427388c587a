; Equality is identity of values: one NaN, two zeros. x + 0.0 is x unless x is -0.0 (bfloat16).
; Overcompute over zero padding rests on this.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 8 8))
(declare-const x F)
(define-fun pz () F (_ +zero 8 8))
(define-fun nz () F (_ -zero 8 8))
(assert (not (= x nz)))
(assert (not (= (fp.add RNE x pz) x)))
(check-sat)
