; 8 * i_0: no overflow
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
(assert (let ((l0 (* 8 x0))) (<= 0 (+ (+ l0 x1) (- 2)))))
(assert (let ((l0 (* 8 x0))) (not (and (<= (- 2147483648) l0) (<= l0 2147483647)))))
(check-sat)
