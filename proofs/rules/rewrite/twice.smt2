; Equality is identity of values: one NaN, two zeros. x + x is 2.0 * x.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 5 11))
(declare-const x F)
(define-fun one () F ((_ to_fp 5 11) RNE 1.0))
(assert (not (= (fp.add RNE x x) (fp.mul RNE (fp.add RNE one one) x))))
(check-sat)
