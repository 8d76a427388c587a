; the padding of A is exactly where no element lives
; owed by symbolic_shape in examples/nhwc_to_nchwc.py
; x0 is N
; x1 is H
; x2 is W
; x3 is C
; x4 is n
; x5 is co
; x6 is h
; x7 is w
; x8 is ci
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
(assert (<= 0 x0))
(assert (<= x0 2147418112))
(assert (<= 0 x1))
(assert (<= x1 2147418112))
(assert (<= 0 x2))
(assert (<= x2 2147418112))
(assert (<= 0 x3))
(assert (<= x3 2147418112))
(assert (<= 0 x0))
(assert (<= x0 2147418112))
(assert (<= 0 x1))
(assert (<= x1 2147418112))
(assert (<= 0 x2))
(assert (<= x2 2147418112))
(assert (<= 0 x3))
(assert (<= x3 2147418112))
(assert (<= (* (* (* x0 x1) x2) x3) 2147418112))
(assert (<= 0 x0))
(assert (<= x0 2147418112))
(assert (<= 0 x1))
(assert (<= x1 2147418112))
(assert (<= 0 x2))
(assert (<= x2 2147418112))
(assert (<= 0 x3))
(assert (<= x3 2147418112))
(assert (<= (* (* (* x0 x1) x2) x3) 2147418112))
(assert (let ((l0 (<= 0 x4))) (let ((l1 (< x4 x0))) (and l0 l1))))
(assert (and (<= 0 x5) (< x5 (div (+ x3 3) 4))))
(assert (let ((l0 (<= 0 x6))) (let ((l1 (< x6 x1))) (and l0 l1))))
(assert (let ((l0 (<= 0 x7))) (let ((l1 (< x7 x2))) (and l0 l1))))
(assert (and (<= 0 x8) (< x8 4)))
(assert (let ((l0 (<= 0 x4))) (let ((l1 (< x4 x0))) (and l0 l1))))
(assert (and (<= 0 x5) (< x5 (div (+ x3 3) 4))))
(assert (let ((l0 (<= 0 x6))) (let ((l1 (< x6 x1))) (and l0 l1))))
(assert (let ((l0 (<= 0 x7))) (let ((l1 (< x7 x2))) (and l0 l1))))
(assert (and (<= 0 x8) (< x8 4)))
(assert (let ((l0 (+ (* 4 x5) x8))) (let ((l1 (<= 0 x4))) (let ((l2 (< x4 x0))) (let ((l3 (<= 0 x6))) (let ((l4 (< x6 x1))) (let ((l5 (<= 0 x7))) (let ((l6 (< x7 x2))) (not (= (<= x3 l0) (not (and l1 l2 l3 l4 l5 l6 (<= 0 l0) (< l0 x3) (= (div l0 4) x5) (= (mod l0 4) x8)))))))))))))
(check-sat)
