; each old iteration is run as itself
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
(assert (not (= (+ (+ (* 64 (div x0 64)) (* 8 (mod (div x0 8) 8))) (mod x0 8)) x0)))
(check-sat)
