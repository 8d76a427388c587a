; for i: B[i] = A[i]; C[i] = B[i] + B[i - 1]: in two places, i % 2, no other element takes the place of B[i - 1] too early.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
; iteration r reads B[r - 1]; s stores it, and w another element at the same place (remainders with their quotients)
(declare-const r Int)
(declare-const s Int)
(declare-const w Int)
(declare-const q Int)
(declare-const p Int)
(declare-const m Int)
(assert (and (<= 1 r) (<= 0 s) (<= 0 w)))
(assert (= s (- r 1)))
(assert (not (= w s)))
(assert (and (= s (+ (* 2 q) m)) (= w (+ (* 2 p) m)) (<= 0 m) (< m 2)))
; the store comes before the read of its own iteration: so w is too late only if it comes after s, and not after r
(assert (not (or (< w s) (< r w))))
(check-sat)
