; each old iteration is run as itself
; owed by padded in examples/row_summation.py
; x0 is i
; x1 is j
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic ALL)
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(assert (<= 0 x0))
(assert (< x0 16))
(assert (<= 0 x1))
(assert (< x1 14))
(assert (<= 0 x1))
(assert (< x1 14))
(assert (not (= (+ (* 4 (div x1 4)) (mod x1 4)) x1)))
(check-sat)
