; j_0 * 128: no overflow
; owed by tiled_in_three_levels in examples/matmul.py
; x0 is i_0
; x1 is i_1
; x2 is i_2
; x3 is j_0
; x4 is j_1
; x5 is j_2
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
(assert (<= 0 x0))
(assert (< x0 16))
(assert (<= 0 x1))
(assert (< x1 8))
(assert (<= 0 x2))
(assert (< x2 8))
(assert (< (+ (+ (* 64 x0) (* 8 x1)) x2) 1020))
(assert (<= 0 x3))
(assert (< x3 8))
(assert (<= 0 x4))
(assert (< x4 4))
(assert (<= 0 x5))
(assert (< x5 32))
(assert (let ((l0 (* 128 x3))) (< (+ (+ l0 (* 32 x4)) x5) 1000)))
(assert (let ((l0 (* 128 x3))) (not (and (<= (- 2147483648) l0) (<= l0 2147483647)))))
(check-sat)
