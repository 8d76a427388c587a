; [a, m) and [m, b) with extents that are not negative are [a, b).
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const a Int)
(declare-const e1 Int)
(declare-const e2 Int)
(declare-const i Int)
(assert (and (<= 0 e1) (<= 0 e2)))
(define-fun m () Int (+ a e1))
(assert (distinct (or (and (<= a i) (< i m)) (and (<= m i) (< i (+ m e2))))
                  (and (<= a i) (< i (+ a (+ e1 e2))))))
(check-sat)
