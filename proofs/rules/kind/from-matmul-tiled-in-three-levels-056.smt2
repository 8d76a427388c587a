; the loop over i_0 is parallel: no two of its iterations read and write the same element of C
; owed by tiled_in_three_levels in examples/matmul.py
; x0 is i_0
; x1 is i_0'
; x2 is j_0
; x3 is k_0
; x4 is i_1
; x5 is j_1
; x6 is k_1
; x7 is i_2
; x8 is j_2
; x9 is j_0'
; x10 is k_0'
; x11 is i_1'
; x12 is j_1'
; x13 is k_1'
; x14 is i_2'
; x15 is j_2'
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
(declare-fun x8 () Int)
(declare-fun x9 () Int)
(declare-fun x10 () Int)
(declare-fun x11 () Int)
(declare-fun x12 () Int)
(declare-fun x13 () Int)
(declare-fun x14 () Int)
(declare-fun x15 () Int)
(assert (and (<= 0 x0) (< x0 16)))
(assert (and (<= 0 x1) (< x1 16)))
(assert (< x0 x1))
(assert (<= 0 x2))
(assert (< x2 8))
(assert (<= 0 x3))
(assert (< x3 9))
(assert (<= 0 x4))
(assert (< x4 8))
(assert (<= 0 x5))
(assert (< x5 4))
(assert (<= 0 x6))
(assert (< x6 64))
(assert (<= 0 x7))
(assert (< x7 8))
(assert (<= 0 x8))
(assert (< x8 32))
(assert (let ((l0 (+ (+ (* 64 x0) (* 8 x4)) x7))) (< l0 1020)))
(assert (let ((l0 (+ (+ (* 128 x2) (* 32 x5)) x8))) (< l0 1000)))
(assert (< (+ (* 64 x3) x6) 514))
(assert (<= 0 x9))
(assert (< x9 8))
(assert (<= 0 x10))
(assert (< x10 9))
(assert (<= 0 x11))
(assert (< x11 8))
(assert (<= 0 x12))
(assert (< x12 4))
(assert (<= 0 x13))
(assert (< x13 64))
(assert (<= 0 x14))
(assert (< x14 8))
(assert (<= 0 x15))
(assert (< x15 32))
(assert (let ((l0 (+ (+ (* 64 x1) (* 8 x11)) x14))) (< l0 1020)))
(assert (let ((l0 (+ (+ (* 128 x9) (* 32 x12)) x15))) (< l0 1000)))
(assert (< (+ (* 64 x10) x13) 514))
(assert (let ((l0 (+ (+ (* 64 x0) (* 8 x4)) x7))) (let ((l1 (+ (+ (* 64 x1) (* 8 x11)) x14))) (let ((l2 (+ (+ (* 128 x2) (* 32 x5)) x8))) (let ((l3 (+ (+ (* 128 x9) (* 32 x12)) x15))) (and (= l0 l1) (= l2 l3)))))))
(check-sat)
