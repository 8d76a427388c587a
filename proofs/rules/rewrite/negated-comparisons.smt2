; not (i < 2) and not (i + f < 2) is i >= 2 and i + f >= 2.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const i Int)
(declare-const f Int)
(assert (distinct (and (not (< i 2)) (not (< (+ i f) 2))) (and (>= i 2) (>= (+ i f) 2))))
(check-sat)
