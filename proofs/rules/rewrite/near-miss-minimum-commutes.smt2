; Equality is identity of values: one NaN, two zeros. min(a, b) as select(a < b, a, b) does not
; commute: NaN and the two zeros.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 8 24))
(declare-const a F)
(declare-const b F)
(assert (not (= (ite (fp.lt a b) a b) (ite (fp.lt b a) b a))))
(check-sat)
