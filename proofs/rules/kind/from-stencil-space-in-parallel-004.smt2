; the loop over x is parallel: no two of its iterations write and read the same element of A
; owed by space_in_parallel in examples/stencil.py
; x0 is t
; x1 is x
; x2 is x'
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic ALL)
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(declare-fun x2 () Int)
(assert (<= 0 x0))
(assert (< x0 8))
(assert (and (<= 0 x1) (< x1 32)))
(assert (and (<= 0 x2) (< x2 32)))
(assert (< x1 x2))
(assert (and (= (+ x0 1) x0) (= (+ x1 1) (+ x2 2))))
(check-sat)
