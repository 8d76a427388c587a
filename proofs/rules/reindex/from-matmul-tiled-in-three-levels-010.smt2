; every old iteration of (i) is run
; owed by tiled_in_three_levels in examples/matmul.py
; x0 is i
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic ALL)
(declare-fun x0 () Int)
(assert (<= 0 x0))
(assert (< x0 1020))
(assert (<= 0 x0))
(assert (< x0 1020))
(assert (let ((l0 (div x0 64))) (let ((l1 (mod (div x0 8) 8))) (let ((l2 (mod x0 8))) (not (and (<= 0 l0) (< l0 16) (<= 0 l1) (< l1 8) (<= 0 l2) (< l2 8) (< (+ (+ (* 64 l0) (* 8 l1)) l2) 1020)))))))
(check-sat)
