; Two loaded int32 extents, neither negative, can be added as numbers only if the sum does not
; wrap.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_NIA)
(declare-const a Int)
(declare-const b Int)
(define-fun wrap ((v Int)) Int (- (mod (+ v 2147483648) 4294967296) 2147483648))
(assert (and (<= 0 a) (<= a 2147483647) (<= 0 b) (<= b 2147483647)))
(assert (distinct (wrap (+ a b)) (+ a b)))
(check-sat)
