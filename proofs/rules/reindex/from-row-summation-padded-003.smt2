; 4 * j_0: no overflow
; owed by padded in examples/row_summation.py
; x0 is i
; x1 is j_0
; x2 is j_1
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic ALL)
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(declare-fun x2 () Int)
(assert (<= 0 x0))
(assert (< x0 16))
(assert (<= 0 x1))
(assert (< x1 4))
(assert (<= 0 x2))
(assert (< x2 4))
(assert (let ((l0 (* 4 x1))) (not (and (<= (- 2147483648) l0) (<= l0 2147483647)))))
(check-sat)
