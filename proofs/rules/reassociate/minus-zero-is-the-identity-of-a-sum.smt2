; x + -0.0 is x for every float32: zeros of both signs, infinities and NaN included.
; Equality is identity of values: one NaN, two zeros.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 8 24))
(declare-const x F)
(assert (not (= (fp.add RNE x (_ -zero 8 24)) x)))
(check-sat)
