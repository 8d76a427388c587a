; j // 4 lies below ceil(n / 4) for j in [0, n).
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const n Int)
(declare-const j Int)
(assert (and (<= 0 j) (< j n)))
(assert (not (and (<= 0 (div j 4)) (< (div j 4) (div (+ n 3) 4)))))
(check-sat)
