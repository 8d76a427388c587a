; Reversing a loop: n - 1 - i lies in [0, n) and is its own inverse.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const n Int)
(declare-const i Int)
(assert (and (<= 0 i) (< i n)))
(define-fun r () Int (- (- n 1) i))
(assert (not (and (<= 0 r) (< r n) (= (- (- n 1) r) i))))
(check-sat)
