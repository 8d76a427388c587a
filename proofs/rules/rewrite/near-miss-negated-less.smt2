; Equality is identity of values: one NaN, two zeros. not (a < b) is not b <= a: both are false
; for NaN.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 8 24))
(declare-const a F)
(declare-const b F)
(assert (not (= (not (fp.lt a b)) (fp.leq b a))))
(check-sat)
