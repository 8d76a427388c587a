; Wrapping an inner sum first does not change the wrapped outer sum, so a let may hold the wrapped
; value.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_NIA)
(declare-const a Int)
(declare-const b Int)
(declare-const c Int)
(define-fun wrap ((v Int)) Int (- (mod (+ v 2147483648) 4294967296) 2147483648))
(assert (distinct (wrap (+ (wrap (+ a b)) c)) (wrap (+ (+ a b) c))))
(check-sat)
