; Equality is identity of values: one NaN, two zeros. 0.0 is not -0.0: the invariant holds at the
; start.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 8 24))
(define-fun pz () F (_ +zero 8 24))
(define-fun nz () F (_ -zero 8 24))
(assert (not (not (= pz nz))))
(check-sat)
