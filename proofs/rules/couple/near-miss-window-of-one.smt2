; In one place for all elements, the store of iteration r takes the place of B[r - 1], which is read after it.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
; iteration r reads B[r - 1]; s stores it, and w another element at the same place (everything modulo 1)
(declare-const r Int)
(declare-const s Int)
(declare-const w Int)
(declare-const q Int)
(declare-const p Int)
(declare-const m Int)
(assert (and (<= 1 r) (<= 0 s) (<= 0 w)))
(assert (= s (- r 1)))
(assert (not (= w s)))
(assert (and (= s (+ q m)) (= w (+ p m)) (<= 0 m) (< m 1)))
; the store comes before the read of its own iteration: so w is too late only if it comes after s, and not after r
(assert (not (or (< w s) (< r w))))
(check-sat)
