; every new iteration is an old one of (i)
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
(assert (let ((l0 (+ (+ (* 64 x0) (* 8 x1)) x2))) (< l0 1020)))
(assert (<= 0 x0))
(assert (< x0 16))
(assert (<= 0 x1))
(assert (< x1 8))
(assert (<= 0 x2))
(assert (< x2 8))
(assert (let ((l0 (+ (+ (* 64 x0) (* 8 x1)) x2))) (< l0 1020)))
(assert (let ((l0 (+ (+ (* 64 x0) (* 8 x1)) x2))) (not (and (<= 0 l0) (< l0 1020)))))
(check-sat)
