; Equality is identity of values: one NaN, two zeros. (a + b) + c is not a + (b + c).
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 8 24))
(declare-const a F)
(declare-const b F)
(declare-const c F)
(assert (not (= (fp.add RNE (fp.add RNE a b) c) (fp.add RNE a (fp.add RNE b c)))))
(check-sat)
