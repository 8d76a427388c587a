; (4 i + j) % 4 is j for j in [0, 4), for negative i too.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const i Int)
(declare-const j Int)
(assert (and (<= 0 j) (< j 4)))
(assert (not (= (mod (+ (* 4 i) j) 4) j)))
(check-sat)
