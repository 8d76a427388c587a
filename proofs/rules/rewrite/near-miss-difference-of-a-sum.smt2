; Equality is identity of values: one NaN, two zeros. (a + b) - a is not b.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 8 24))
(declare-const a F)
(declare-const b F)
(assert (not (= (fp.sub RNE (fp.add RNE a b) a) b)))
(check-sat)
