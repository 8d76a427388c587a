; A[i, j_0, j_1]: in bounds
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
(assert (<= 14 (+ (* 4 x1) x2)))
(assert true)
(assert (not (and (<= 0 x2) (< x2 4))))
(check-sat)
