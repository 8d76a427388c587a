; x + 0.0 is not x for x = -0.0.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 8 24))
(declare-const x F)
(assert (not (= (fp.add RNE x (_ +zero 8 24)) x)))
(check-sat)
