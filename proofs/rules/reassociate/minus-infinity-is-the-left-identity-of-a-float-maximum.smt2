; max(-oo, x) is x for every float32, NaN and zeros of both signs included.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 8 24))
(declare-const x F)
(assert (not (= (ite (fp.gt (_ -oo 8 24) x) (_ -oo 8 24) x) x)))
(check-sat)
