; iterations change their order: no dependence between the write and the read of A
; owed by space_before_time in examples/stencil.py
; x0 is t
; x2 is t'
;
; Near miss: satisfiable.
(set-info :status sat)
(set-logic QF_LIA)
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(declare-fun x2 () Int)
(declare-fun x3 () Int)
(assert (<= 0 x0))
(assert (< x0 8))
(assert (<= 0 x1))
(assert (< x1 32))
(assert true)
(assert (<= 0 x2))
(assert (< x2 8))
(assert (<= 0 x3))
(assert (< x3 32))
(assert true)
(assert (let ((l0 (< x0 x2))) (let ((l1 (< x1 x3))) (or l0 (and (= x0 x2) l1)))))
(assert (let ((l0 (< x1 x3))) (let ((l1 (< x0 x2))) (not (or l0 (and (= x1 x3) l1))))))
(assert (and (= (+ x0 1) x2) (= (+ x1 1) (+ x3 2))))
(check-sat)
