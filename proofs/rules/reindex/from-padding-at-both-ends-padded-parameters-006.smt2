; every new iteration is an old one of (i)
; owed by padded_parameters in examples/padding_at_both_ends.py
; x0 is i_0
; x1 is i_1
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic ALL)
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(assert (<= 0 x0))
(assert (< x0 2))
(assert (<= 0 x1))
(assert (< x1 8))
(assert (let ((l0 (+ (+ (* 8 x0) x1) (- 2)))) (<= 0 l0)))
(assert (<= 0 x0))
(assert (< x0 2))
(assert (<= 0 x1))
(assert (< x1 8))
(assert (let ((l0 (+ (+ (* 8 x0) x1) (- 2)))) (<= 0 l0)))
(assert (let ((l0 (+ (+ (* 8 x0) x1) (- 2)))) (not (and (<= 0 l0) (< l0 14)))))
(check-sat)
