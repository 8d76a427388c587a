; Equality is identity of values: one NaN, two zeros. max(x, 0.0), which is select(x > 0.0, x,
; 0.0), is never -0.0 and never NaN.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 8 24))
(declare-const x F)
(define-fun pz () F (_ +zero 8 24))
(define-fun nz () F (_ -zero 8 24))
(assert (not (and (not (= (ite (fp.gt x pz) x pz) nz)) (not (fp.isNaN (ite (fp.gt x pz) x pz))))))
(check-sat)
