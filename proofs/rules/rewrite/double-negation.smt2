; Equality is identity of values: one NaN, two zeros. -(-x) is x.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 8 24))
(declare-const x F)
(assert (not (= (fp.neg (fp.neg x)) x)))
(check-sat)
