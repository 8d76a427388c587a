; Equality is identity of values: one NaN, two zeros. not (a < b) is b <= a if neither is NaN.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 8 24))
(declare-const a F)
(declare-const b F)
(assert (not (or (fp.isNaN a) (fp.isNaN b))))
(assert (not (= (not (fp.lt a b)) (fp.leq b a))))
(check-sat)
