; the sum of float32 into C has the same bits in any order (another order may be allowed: rfactor(…, reassociate="C"))
; owed by floats_in_lanes_without_a_word in examples/rfactor.py
; x0 is k_0
; x1 is k_1
;
; Near miss: satisfiable.
(set-info :status sat)
(set-logic QF_LIA)
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(assert (<= 0 x0))
(assert (< x0 32))
(assert (<= 0 x1))
(assert (< x1 8))
(assert (< (+ (* 8 x0) x1) 250))
(assert true)
(check-sat)
