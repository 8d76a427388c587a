; Equality is identity of values: one NaN, two zeros. A sum that is not -0.0 stays so, whatever is
; added (bfloat16). With the start at 0.0 this is the invariant of a sum.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 8 8))
(declare-const x F)
(declare-const y F)
(define-fun nz () F (_ -zero 8 8))
(assert (not (= x nz)))
(assert (not (not (= (fp.add RNE x y) nz))))
(check-sat)
