; every element of A lies within the new shape
; owed by symbolic_shape in examples/nhwc_to_nchwc.py
; x0 is N
; x1 is H
; x2 is W
; x3 is C
; x4 is n
; x5 is h
; x6 is w
; x7 is c
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
(assert (let ((l0 (<= 0 x5))) (let ((l1 (< x5 x1))) (and l0 l1))))
(assert (let ((l0 (<= 0 x6))) (let ((l1 (< x6 x2))) (and l0 l1))))
(assert (and (<= 0 x7) (< x7 x3)))
(assert (let ((l0 (<= 0 x4))) (let ((l1 (< x4 x0))) (and l0 l1))))
(assert (let ((l0 (<= 0 x5))) (let ((l1 (< x5 x1))) (and l0 l1))))
(assert (let ((l0 (<= 0 x6))) (let ((l1 (< x6 x2))) (and l0 l1))))
(assert (and (<= 0 x7) (< x7 x3)))
(assert (let ((l0 (<= 0 x4))) (let ((l1 (< x4 x0))) (let ((l2 (div x7 4))) (let ((l3 (<= 0 x5))) (let ((l4 (< x5 x1))) (let ((l5 (<= 0 x6))) (let ((l6 (< x6 x2))) (let ((l7 (mod x7 4))) (not (and l0 l1 (<= 0 l2) (< l2 (div (+ x3 3) 4)) l3 l4 l5 l6 (<= 0 l7) (< l7 4))))))))))))
(check-sat)
