; every old iteration of (j) is run
; owed by tiled_in_three_levels in examples/matmul.py
; x0 is i_0
; x1 is i_1
; x2 is i_2
; x3 is j
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic ALL)
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(declare-fun x2 () Int)
(declare-fun x3 () Int)
(assert (<= 0 x0))
(assert (< x0 16))
(assert (<= 0 x1))
(assert (< x1 8))
(assert (<= 0 x2))
(assert (< x2 8))
(assert (< (+ (+ (* 64 x0) (* 8 x1)) x2) 1020))
(assert (<= 0 x3))
(assert (< x3 1000))
(assert (<= 0 x3))
(assert (< x3 1000))
(assert (let ((l0 (div x3 128))) (let ((l1 (mod (div x3 32) 4))) (let ((l2 (mod x3 32))) (not (and (<= 0 l0) (< l0 8) (<= 0 l1) (< l1 4) (<= 0 l2) (< l2 32) (< (+ (+ (* 128 l0) (* 32 l1)) l2) 1000)))))))
(check-sat)
