; Under n = 1 the loop over [n - 1, 2 n - 1) runs once.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const n Int)
(assert (= n 1))
(assert (not (= (- (- (* 2 n) 1) (- n 1)) 1)))
(check-sat)
