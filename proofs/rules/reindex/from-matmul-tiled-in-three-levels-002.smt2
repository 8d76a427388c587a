; i_0 * 64 + i_1 * 8: no overflow
; owed by tiled_in_three_levels in examples/matmul.py
; x0 is i_0
; x1 is i_1
; x2 is i_2
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic ALL)
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(declare-fun x2 () Int)
(assert (<= 0 x0))
(assert (< x0 16))
(assert (<= 0 x1))
(assert (< x1 8))
(assert (<= 0 x2))
(assert (< x2 8))
(assert (let ((l0 (+ (* 64 x0) (* 8 x1)))) (not (and (<= (- 2147483648) l0) (<= l0 2147483647)))))
(check-sat)
