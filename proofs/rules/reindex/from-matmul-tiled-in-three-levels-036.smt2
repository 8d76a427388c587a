; i_1 * 8: no overflow
; owed by tiled_in_three_levels in examples/matmul.py
; x0 is i_0
; x1 is j_0
; x2 is k_0
; x3 is i_1
; x4 is j_1
; x5 is k_1
; x6 is i_2
; x7 is j_2
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic ALL)
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(declare-fun x2 () Int)
(declare-fun x3 () Int)
(declare-fun x4 () Int)
(declare-fun x5 () Int)
(declare-fun x6 () Int)
(declare-fun x7 () Int)
(assert (<= 0 x0))
(assert (< x0 16))
(assert (<= 0 x1))
(assert (< x1 8))
(assert (<= 0 x2))
(assert (< x2 9))
(assert (<= 0 x3))
(assert (< x3 8))
(assert (<= 0 x4))
(assert (< x4 4))
(assert (<= 0 x5))
(assert (< x5 64))
(assert (<= 0 x6))
(assert (< x6 8))
(assert (<= 0 x7))
(assert (< x7 32))
(assert (let ((l0 (* 8 x3))) (not (and (<= (- 2147483648) l0) (<= l0 2147483647)))))
(check-sat)
