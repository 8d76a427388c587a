; the iterations keep their order
; owed by tiled_in_three_levels in examples/matmul.py
; x0 is i_0
; x1 is i_1
; x2 is i_2
; x3 is j_0
; x4 is j_1
; x5 is j_2
; x6 is k
; x9 is k'
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
(assert (< x6 514))
(assert (<= 0 x7))
(assert (< x7 9))
(assert (<= 0 x8))
(assert (< x8 64))
(assert (let ((l0 (+ (* 64 x7) x8))) (< l0 514)))
(assert (= x7 (div x6 64)))
(assert (= x8 (mod x6 64)))
(assert (let ((l0 (+ (* 64 x7) x8))) (= x6 l0)))
(assert (<= 0 x9))
(assert (< x9 514))
(assert (<= 0 x10))
(assert (< x10 9))
(assert (<= 0 x11))
(assert (< x11 64))
(assert (let ((l0 (+ (* 64 x10) x11))) (< l0 514)))
(assert (= x10 (div x9 64)))
(assert (= x11 (mod x9 64)))
(assert (let ((l0 (+ (* 64 x10) x11))) (= x9 l0)))
(assert (< x6 x9))
(assert (not (or (< x7 x10) (and (= x7 x10) (< x8 x11)))))
(check-sat)
