; each old iteration is run as itself
; owed by padded_parameters in examples/padding_at_both_ends.py
; x0 is i
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic ALL)
(declare-fun x0 () Int)
(assert (<= 0 x0))
(assert (< x0 14))
(assert (<= 0 x0))
(assert (< x0 14))
(assert (let ((l0 (+ x0 2))) (not (= (+ (+ (* 8 (div l0 8)) (mod l0 8)) (- 2)) x0))))
(check-sat)
