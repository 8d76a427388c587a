; max(a, b) is select(a > b, a, b): with a NaN, or with zeros of two signs, the order matters.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 8 24))
(declare-const a F)
(declare-const b F)
(assert (not (= (ite (fp.gt a b) a b) (ite (fp.gt b a) b a))))
(check-sat)
