; the new extents of A are not negative
; owed by padded_with_zeros in examples/row_summation_symbolic.py
; x0 is n
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic ALL)
(declare-fun x0 () Int)
(assert (<= 0 x0))
(assert (<= x0 2147418112))
(assert (<= 0 x0))
(assert (<= x0 2147418112))
(assert (<= (* 16 x0) 2147418112))
(assert (< (div (+ x0 3) 4) 0))
(check-sat)
