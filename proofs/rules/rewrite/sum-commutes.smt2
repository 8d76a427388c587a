; Equality is identity of values: one NaN, two zeros. a + b is b + a.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 8 24))
(declare-const a F)
(declare-const b F)
(assert (not (= (fp.add RNE a b) (fp.add RNE b a))))
(check-sat)
