; A sum of two int32 data values wraps; bound to a let it must go on wrapping. As mathematical
; integers the two differ.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_NIA)
(declare-const a Int)
(declare-const b Int)
(define-fun int32 ((v Int)) Bool (and (<= (- 2147483648) v) (<= v 2147483647)))
(define-fun wrap ((v Int)) Int (- (mod (+ v 2147483648) 4294967296) 2147483648))
(assert (and (int32 a) (int32 b)))
(assert (distinct (wrap (+ a b)) (+ a b)))
(check-sat)
