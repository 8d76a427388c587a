; For wrapping int32 data x + 0 is x.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_NIA)
(declare-const x Int)
(define-fun wrap ((v Int)) Int (- (mod (+ v 2147483648) 4294967296) 2147483648))
(assert (and (<= (- 2147483648) x) (<= x 2147483647)))
(assert (distinct (wrap (+ x 0)) x))
(check-sat)
