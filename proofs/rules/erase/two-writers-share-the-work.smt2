; for y in [0, 2): t[y] = ...; t[2] = ...: what is read in [0, 3) was written by one or the other.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const y Int)
(assert (and (<= 0 y) (< y 3)))
(assert (not (or (and (<= 0 y) (< y 2)) (= y 2))))
(check-sat)
