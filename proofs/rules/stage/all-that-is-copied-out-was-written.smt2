; for k in [0, 8): for j in [0, 4): C[4 * i + j] = ...: element y was written, at k = 0, j = y.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const i Int)
(declare-const y Int)
(assert (and (<= 0 i) (< i 4)))
(assert (and (<= 0 y) (< y 4)))
(assert (not (and (and (<= 0 0) (< 0 8)) (and (<= 0 y) (< y 4)) (= (+ (* 4 i) y) (+ (* 4 i) y)))))
(check-sat)
