; i + 2: no overflow
; owed by padded_caches in examples/padding_at_both_ends.py
; x0 is i
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic ALL)
(declare-fun x0 () Int)
(assert (and (<= 0 x0) (< x0 14)))
(assert (let ((l0 (+ x0 2))) (not (and (<= (- 2147483648) l0) (<= l0 2147483647)))))
(check-sat)
