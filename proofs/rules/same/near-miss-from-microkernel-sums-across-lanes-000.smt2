; the loop over k_1 is vectorized: no two of its iterations read and write the same element of acc
; owed by sums_across_lanes in examples/microkernel.py
; x0 is i
; x1 is j
; x2 is k_0
; x3 is k_1
; x4 is k_1'
;
; Near miss: satisfiable.
(set-info :status sat)
(set-logic QF_LIA)
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(declare-fun x2 () Int)
(declare-fun x3 () Int)
(declare-fun x4 () Int)
(assert (<= 0 x0))
(assert (< x0 8))
(assert (<= 0 x1))
(assert (< x1 32))
(assert (<= 0 x2))
(assert (< x2 16))
(assert (<= 0 x3))
(assert (< x3 16))
(assert (<= 0 x4))
(assert (< x4 16))
(assert (< x3 x4))
(assert true)
(check-sat)
