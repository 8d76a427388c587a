; 4 * c_0 + c_1: no overflow
; owed by constant_shape in examples/nhwc_to_nchwc.py
; x0 is n
; x1 is c_0
; x2 is h
; x3 is w
; x4 is c_1
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic ALL)
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(declare-fun x2 () Int)
(declare-fun x3 () Int)
(declare-fun x4 () Int)
(assert (<= 0 x0))
(assert (< x0 1))
(assert (<= 0 x1))
(assert (< x1 16))
(assert (<= 0 x2))
(assert (< x2 28))
(assert (<= 0 x3))
(assert (< x3 28))
(assert (<= 0 x4))
(assert (< x4 4))
(assert (let ((l0 (+ (* 4 x1) x4))) (not (and (<= (- 2147483648) l0) (<= l0 2147483647)))))
(check-sat)
