; What S(x) wrote to B[x] is not stored by a later S(x').
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const x Int)
(declare-const z Int)
(assert (and (<= 0 x) (< x 16)))
(assert (and (<= 0 z) (< z 16)))
(assert (< x z))
(assert (= x z))
(check-sat)
