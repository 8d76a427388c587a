; for y: S(y) again; A[y] = 0, where S(y) reads A[y]: earlier iterations stored elsewhere.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const y Int)
(declare-const z Int)
(assert (and (<= 0 y) (< y 8)))
(assert (and (<= 0 z) (< z 8)))
(assert (< z y))
(assert (= y z))
(check-sat)
