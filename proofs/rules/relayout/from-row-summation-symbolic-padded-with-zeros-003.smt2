; no two elements of A are mapped to one place
; owed by padded_with_zeros in examples/row_summation_symbolic.py
; x0 is n
; x1 is i
; x2 is j
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic ALL)
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(declare-fun x2 () Int)
(assert (<= 0 x0))
(assert (<= x0 2147418112))
(assert (<= 0 x0))
(assert (<= x0 2147418112))
(assert (<= (* 16 x0) 2147418112))
(assert (and (<= 0 x1) (< x1 16)))
(assert (and (<= 0 x2) (< x2 x0)))
(assert (and (<= 0 x1) (< x1 16)))
(assert (and (<= 0 x2) (< x2 x0)))
(assert (not (= (+ (* 4 (div x2 4)) (mod x2 4)) x2)))
(check-sat)
