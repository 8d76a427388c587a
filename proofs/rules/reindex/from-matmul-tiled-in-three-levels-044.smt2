; every old iteration of (i_0, i_1, i_2, j_0, j_1, j_2, k_0, k_1) is run
; owed by tiled_in_three_levels in examples/matmul.py
; x0 is i_0
; x1 is i_1
; x2 is i_2
; x3 is j_0
; x4 is j_1
; x5 is j_2
; x6 is k_0
; x7 is k_1
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
(assert (< x2 8))
(assert (< (+ (+ (* 64 x0) (* 8 x1)) x2) 1020))
(assert (<= 0 x3))
(assert (< x3 8))
(assert (<= 0 x4))
(assert (< x4 4))
(assert (<= 0 x5))
(assert (< x5 32))
(assert (< (+ (+ (* 128 x3) (* 32 x4)) x5) 1000))
(assert (<= 0 x6))
(assert (< x6 9))
(assert (<= 0 x7))
(assert (< x7 64))
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
(assert (< (+ (+ (* 128 x3) (* 32 x4)) x5) 1000))
(assert (<= 0 x6))
(assert (< x6 9))
(assert (<= 0 x7))
(assert (< x7 64))
(assert (not (and (<= 0 x0) (< x0 16) (<= 0 x3) (< x3 8) (<= 0 x6) (< x6 9) (<= 0 x1) (< x1 8) (<= 0 x4) (< x4 4) (<= 0 x7) (< x7 64) (<= 0 x2) (< x2 8) (<= 0 x5) (< x5 32) (< (+ (+ (* 64 x0) (* 8 x1)) x2) 1020) (< (+ (+ (* 128 x3) (* 32 x4)) x5) 1000))))
(check-sat)
