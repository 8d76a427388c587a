; the padding of A is exactly where no element lives
; owed by constant_shape in examples/nhwc_to_nchwc.py
; x0 is n
; x1 is co
; x2 is h
; x3 is w
; x4 is ci
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic ALL)
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(declare-fun x2 () Int)
(declare-fun x3 () Int)
(declare-fun x4 () Int)
(assert (and (<= 0 x0) (< x0 1)))
(assert (and (<= 0 x1) (< x1 16)))
(assert (let ((l0 (<= 0 x2))) (let ((l1 (< x2 28))) (and l0 l1))))
(assert (let ((l0 (<= 0 x3))) (let ((l1 (< x3 28))) (and l0 l1))))
(assert (and (<= 0 x4) (< x4 4)))
(assert (and (<= 0 x0) (< x0 1)))
(assert (and (<= 0 x1) (< x1 16)))
(assert (let ((l0 (<= 0 x2))) (let ((l1 (< x2 28))) (and l0 l1))))
(assert (let ((l0 (<= 0 x3))) (let ((l1 (< x3 28))) (and l0 l1))))
(assert (and (<= 0 x4) (< x4 4)))
(assert (let ((l0 (<= 0 x2))) (let ((l1 (< x2 28))) (let ((l2 (<= 0 x3))) (let ((l3 (< x3 28))) (let ((l4 (+ (* 4 x1) x4))) (not (and l0 l1 l2 l3 (<= 0 l4) (< l4 64) (= 0 x0) (= (div l4 4) x1) (= (mod l4 4) x4)))))))))
(check-sat)
