; every old iteration of (i) is run
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
(assert (let ((l0 (+ x0 2))) (let ((l1 (div l0 8))) (let ((l2 (mod l0 8))) (not (and (<= 0 l1) (< l1 2) (<= 0 l2) (< l2 8) (<= 0 (+ (+ (* 8 l1) l2) (- 2)))))))))
(check-sat)
