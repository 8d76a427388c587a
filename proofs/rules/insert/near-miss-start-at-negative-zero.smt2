; Equality is identity of values: one NaN, two zeros. A sum that starts at -0.0 may stay -0.0.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 8 24))
(declare-const y F)
(define-fun nz () F (_ -zero 8 24))
(assert (not (not (= (fp.add RNE nz y) nz))))
(check-sat)
