; max(x, -oo) is x, but for NaN, which is dropped.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 8 24))
(declare-const x F)
(assert (not (= (ite (fp.gt x (_ -oo 8 24)) x (_ -oo 8 24)) x)))
(check-sat)
