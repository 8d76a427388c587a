; the loop over t is parallel: no two of its iterations write and read the same element of A
; owed by space_in_parallel in examples/stencil.py
; x0 is t
; x1 is t'
;
; Near miss: satisfiable.
(set-info :status sat)
(set-logic QF_LIA)
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(declare-fun x2 () Int)
(declare-fun x3 () Int)
(assert (<= 0 x0))
(assert (< x0 8))
(assert (<= 0 x1))
(assert (< x1 8))
(assert (< x0 x1))
(assert (<= 0 x2))
(assert (< x2 32))
(assert (<= 0 x3))
(assert (< x3 32))
(assert (and (= (+ x0 1) x1) (= (+ x2 1) x3)))
(check-sat)
