; Equality is identity of values: one NaN, two zeros. fma(a, b, c) is not a * b + c.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 5 11))
(declare-const a F)
(declare-const b F)
(declare-const c F)
(assert (not (= (fp.fma RNE a b c) (fp.add RNE (fp.mul RNE a b) c))))
(check-sat)
