; n + 3: no overflow
; owed by padded_with_zeros in examples/row_summation_symbolic.py
; x0 is n
; x1 is i
; x2 is j_0
; x3 is j_1
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic ALL)
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(declare-fun x2 () Int)
(declare-fun x3 () Int)
(assert (<= 0 x0))
(assert (<= x0 2147418112))
(assert (let ((l0 (+ x0 3))) (let ((l1 (div l0 4))) (<= 0 l1))))
(assert (let ((l0 (+ x0 3))) (let ((l1 (div l0 4))) (<= l1 2147418112))))
(assert (let ((l0 (+ x0 3))) (let ((l1 (div l0 4))) (<= (* 4 (* 16 l1)) 2147418112))))
(assert (<= 0 x0))
(assert (<= x0 2147418112))
(assert (<= (* 16 x0) 2147418112))
(assert (<= 0 x1))
(assert (< x1 16))
(assert (<= 0 x2))
(assert (let ((l0 (+ x0 3))) (let ((l1 (div l0 4))) (< x2 l1))))
(assert (<= 0 x3))
(assert (< x3 4))
(assert (<= x0 (+ (* 4 x2) x3)))
(assert true)
(assert (let ((l0 (+ x0 3))) (not (and (<= (- 2147483648) l0) (<= l0 2147483647)))))
(check-sat)
