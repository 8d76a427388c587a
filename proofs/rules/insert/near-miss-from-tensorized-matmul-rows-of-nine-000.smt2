; T.min(9, 21 - o * 9) <= 8: the assumption holds
; owed by rows_of_nine in examples/tensorized_matmul.py
; x0 is o
;
; Near miss: satisfiable.
(set-info :status sat)
(set-logic QF_LIA)
(declare-fun x0 () Int)
(assert (<= 0 x0))
(assert (< x0 3))
(assert (let ((l0 (- 21 (* 9 x0)))) (< 8 (ite (< 9 l0) 9 l0))))
(check-sat)
