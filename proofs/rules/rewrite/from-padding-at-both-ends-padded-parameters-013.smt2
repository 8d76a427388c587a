; i_1 equals (8 * i_0 + i_1 - 2 + 2) % 8
; owed by padded_parameters in examples/padding_at_both_ends.py
; x0 is i_0
; x1 is i_1
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic ALL)
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(assert (<= 0 x0))
(assert (< x0 2))
(assert (<= 0 x1))
(assert (< x1 8))
(assert (let ((l0 (* 8 x0))) (let ((l1 (+ l0 x1))) (<= 2 l1))))
(assert (let ((l0 (* 8 x0))) (and (<= (- 2147483648) l0) (<= l0 2147483647))))
(assert (let ((l0 (* 8 x0))) (let ((l1 (+ l0 x1))) (and (<= (- 2147483648) l1) (<= l1 2147483647)))))
(assert (let ((l0 (* 8 x0))) (let ((l1 (+ l0 x1))) (let ((l2 (+ l1 (- 2)))) (and (<= (- 2147483648) l2) (<= l2 2147483647))))))
(assert (let ((l0 (* 8 x0))) (let ((l1 (+ l0 x1))) (and (<= (- 2147483648) l1) (<= l1 2147483647)))))
(assert true)
(assert (let ((l0 (* 8 x0))) (let ((l1 (+ l0 x1))) (not (= (mod l1 8) x1)))))
(check-sat)
