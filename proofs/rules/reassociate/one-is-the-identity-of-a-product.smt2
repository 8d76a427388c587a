; x * 1.0 is x for every float32.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 8 24))
(declare-const x F)
(define-fun one () F ((_ to_fp 8 24) RNE 1.0))
(assert (not (= (fp.mul RNE x one) x)))
(check-sat)
