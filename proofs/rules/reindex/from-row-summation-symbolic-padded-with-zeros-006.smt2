; the loop's last value fits int32
; owed by padded_with_zeros in examples/row_summation_symbolic.py
; x0 is n
; x1 is i
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic ALL)
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(assert (<= 0 x0))
(assert (<= x0 2147418112))
(assert (let ((l0 (div (+ x0 3) 4))) (<= 0 l0)))
(assert (let ((l0 (div (+ x0 3) 4))) (<= l0 2147418112)))
(assert (let ((l0 (div (+ x0 3) 4))) (<= (* 4 (* 16 l0)) 2147418112)))
(assert (<= 0 x0))
(assert (<= x0 2147418112))
(assert (<= (* 16 x0) 2147418112))
(assert (<= 0 x1))
(assert (< x1 16))
(assert (let ((l0 (div (+ x0 3) 4))) (let ((l1 (+ l0 (- 1)))) (not (=> (< 0 l0) (and (<= (- 2147483648) l1) (<= l1 2147483647)))))))
(check-sat)
