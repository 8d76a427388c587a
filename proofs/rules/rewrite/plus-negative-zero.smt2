; Equality is identity of values: one NaN, two zeros. x + (-0.0) is x.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 8 24))
(declare-const x F)
(define-fun nz () F (_ -zero 8 24))
(assert (not (= (fp.add RNE x nz) x)))
(check-sat)
