; every element of A lies within the new shape
; owed by padded_with_zeros in examples/row_summation_symbolic.py
; x0 is n
; x1 is i
; x2 is j
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic ALL)
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(declare-fun x2 () Int)
(assert (<= 0 x0))
(assert (<= x0 2147418112))
(assert (<= 0 x0))
(assert (<= x0 2147418112))
(assert (<= (* 16 x0) 2147418112))
(assert (let ((l0 (<= 0 x1))) (let ((l1 (< x1 16))) (and l0 l1))))
(assert (and (<= 0 x2) (< x2 x0)))
(assert (let ((l0 (<= 0 x1))) (let ((l1 (< x1 16))) (and l0 l1))))
(assert (and (<= 0 x2) (< x2 x0)))
(assert (let ((l0 (<= 0 x1))) (let ((l1 (< x1 16))) (let ((l2 (div x2 4))) (let ((l3 (mod x2 4))) (not (and l0 l1 (<= 0 l2) (< l2 (div (+ x0 3) 4)) (<= 0 l3) (< l3 4))))))))
(check-sat)
