; (x + y) + z is not x + (y + z): the user's word is needed, and the theorem is weaker.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 8 24))
(declare-const x F)
(declare-const y F)
(declare-const z F)
(assert (not (or (fp.isNaN x) (fp.isNaN y) (fp.isNaN z))))
(assert (not (or (fp.isInfinite x) (fp.isInfinite y) (fp.isInfinite z))))
(assert (not (= (fp.add RNE (fp.add RNE x y) z) (fp.add RNE x (fp.add RNE y z)))))
(check-sat)
