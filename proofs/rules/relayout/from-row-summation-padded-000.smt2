; every element of A lies within the new shape
; owed by padded in examples/row_summation.py
; x0 is i
; x1 is j
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic ALL)
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(assert (let ((l0 (<= 0 x0))) (let ((l1 (< x0 16))) (and l0 l1))))
(assert (and (<= 0 x1) (< x1 14)))
(assert (let ((l0 (<= 0 x0))) (let ((l1 (< x0 16))) (and l0 l1))))
(assert (and (<= 0 x1) (< x1 14)))
(assert (let ((l0 (<= 0 x0))) (let ((l1 (< x0 16))) (let ((l2 (div x1 4))) (let ((l3 (mod x1 4))) (not (and l0 l1 (<= 0 l2) (< l2 4) (<= 0 l3) (< l3 4))))))))
(check-sat)
