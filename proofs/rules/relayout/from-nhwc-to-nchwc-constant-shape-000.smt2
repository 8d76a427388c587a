; every element of A lies within the new shape
; owed by constant_shape in examples/nhwc_to_nchwc.py
; x0 is n
; x1 is h
; x2 is w
; x3 is c
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic ALL)
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(declare-fun x2 () Int)
(declare-fun x3 () Int)
(assert (let ((l0 (<= 0 x0))) (let ((l1 (< x0 1))) (and l0 l1))))
(assert (let ((l0 (<= 0 x1))) (let ((l1 (< x1 28))) (and l0 l1))))
(assert (let ((l0 (<= 0 x2))) (let ((l1 (< x2 28))) (and l0 l1))))
(assert (and (<= 0 x3) (< x3 64)))
(assert (let ((l0 (<= 0 x0))) (let ((l1 (< x0 1))) (and l0 l1))))
(assert (let ((l0 (<= 0 x1))) (let ((l1 (< x1 28))) (and l0 l1))))
(assert (let ((l0 (<= 0 x2))) (let ((l1 (< x2 28))) (and l0 l1))))
(assert (and (<= 0 x3) (< x3 64)))
(assert (let ((l0 (<= 0 x0))) (let ((l1 (< x0 1))) (let ((l2 (div x3 4))) (let ((l3 (<= 0 x1))) (let ((l4 (< x1 28))) (let ((l5 (<= 0 x2))) (let ((l6 (< x2 28))) (let ((l7 (mod x3 4))) (not (and l0 l1 (<= 0 l2) (< l2 16) l3 l4 l5 l6 (<= 0 l7) (< l7 4))))))))))))
(check-sat)
