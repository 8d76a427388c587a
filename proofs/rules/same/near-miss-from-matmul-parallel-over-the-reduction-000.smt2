; the loop over k is parallel: no two of its iterations write and read the same element of C
; owed by parallel_over_the_reduction in examples/matmul.py
; x0 is i
; x1 is j
; x2 is k
; x3 is k'
;
; Near miss: satisfiable.
(set-info :status sat)
(set-logic QF_LIA)
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(declare-fun x2 () Int)
(declare-fun x3 () Int)
(assert (<= 0 x0))
(assert (< x0 1020))
(assert (<= 0 x1))
(assert (< x1 1000))
(assert (<= 0 x2))
(assert (< x2 514))
(assert (<= 0 x3))
(assert (< x3 514))
(assert (< x2 x3))
(assert (= x2 0))
(assert true)
(check-sat)
