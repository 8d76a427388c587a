; every old iteration of (j) is run
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
(assert (let ((l0 (div x1 4))) (let ((l1 (mod x1 4))) (not (and (<= 0 l0) (< l0 4) (<= 0 l1) (< l1 4) (< (+ (* 4 l0) l1) 14))))))
(check-sat)
