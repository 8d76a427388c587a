; A[i_0, i_1]: accessible
; owed by overcompute_into_forbidden_padding in examples/padding_at_both_ends.py
; x0 is i_0
; x1 is i_1
;
; Near miss: satisfiable.
(set-info :status sat)
(set-logic QF_LIA)
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(assert (<= 0 x0))
(assert (< x0 2))
(assert (<= 0 x1))
(assert (< x1 8))
(assert (< (+ (+ (* 8 x0) x1) (- 2)) 0))
(assert (and (= x0 0) (< x1 2)))
(check-sat)
