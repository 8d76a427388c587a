; ceil(n / 4) * 4 is not negative if n is not.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const n Int)
(assert (<= 0 n))
(assert (not (<= 0 (* 4 (div (+ n 3) 4)))))
(check-sat)
