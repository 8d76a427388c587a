; Equality is identity of values: one NaN, two zeros. max(x, -inf), which is select(x > -inf, x,
; -inf), loses a NaN.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 8 24))
(declare-const x F)
(define-fun low () F (_ -oo 8 24))
(assert (not (= (ite (fp.gt x low) x low) x)))
(check-sat)
