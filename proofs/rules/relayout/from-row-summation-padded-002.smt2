; the padding of A is exactly where no element lives
; owed by padded in examples/row_summation.py
; x0 is i
; x1 is jo
; x2 is ji
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic ALL)
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(declare-fun x2 () Int)
(assert (let ((l0 (<= 0 x0))) (let ((l1 (< x0 16))) (and l0 l1))))
(assert (and (<= 0 x1) (< x1 4)))
(assert (and (<= 0 x2) (< x2 4)))
(assert (let ((l0 (<= 0 x0))) (let ((l1 (< x0 16))) (and l0 l1))))
(assert (and (<= 0 x1) (< x1 4)))
(assert (and (<= 0 x2) (< x2 4)))
(assert (let ((l0 (<= 0 x0))) (let ((l1 (< x0 16))) (let ((l2 (+ (* 4 x1) x2))) (not (= (and (= x1 3) (<= 2 x2)) (not (and l0 l1 (<= 0 l2) (< l2 14) (= (div l2 4) x1) (= (mod l2 4) x2)))))))))
(check-sat)
