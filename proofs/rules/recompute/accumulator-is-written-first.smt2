; for k in [0, 8): if k = 0: B[x] = 0; B[x] = B[x] + ...: the read in iteration k sees the
; store of this iteration, or that of iteration 0.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const k Int)
(assert (and (<= 0 k) (< k 8)))
(assert (not (or (= k 0) (and (and (<= 0 0) (< 0 k)) (= 0 0)))))
(check-sat)
