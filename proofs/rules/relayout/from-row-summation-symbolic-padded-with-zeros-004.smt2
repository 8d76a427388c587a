; the padding of A is exactly where no element lives
; owed by padded_with_zeros in examples/row_summation_symbolic.py
; x0 is n
; x1 is i
; x2 is jo
; x3 is ji
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
(assert (<= 0 x0))
(assert (<= x0 2147418112))
(assert (<= (* 16 x0) 2147418112))
(assert (let ((l0 (<= 0 x1))) (let ((l1 (< x1 16))) (and l0 l1))))
(assert (and (<= 0 x2) (< x2 (div (+ x0 3) 4))))
(assert (and (<= 0 x3) (< x3 4)))
(assert (let ((l0 (<= 0 x1))) (let ((l1 (< x1 16))) (and l0 l1))))
(assert (and (<= 0 x2) (< x2 (div (+ x0 3) 4))))
(assert (and (<= 0 x3) (< x3 4)))
(assert (let ((l0 (+ (* 4 x2) x3))) (let ((l1 (<= 0 x1))) (let ((l2 (< x1 16))) (not (= (<= x0 l0) (not (and l1 l2 (<= 0 l0) (< l0 x0) (= (div l0 4) x2) (= (mod l0 4) x3)))))))))
(check-sat)
