; Equality is identity of values: one NaN, two zeros. max(x, -inf), which is select(x > -inf, x,
; -inf), is x if x is not NaN.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 8 24))
(declare-const x F)
(define-fun low () F (_ -oo 8 24))
(assert (not (fp.isNaN x)))
(assert (not (= (ite (fp.gt x low) x low) x)))
(check-sat)
