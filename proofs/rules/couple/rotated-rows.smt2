; [i, j] -> [i, (j + i) % 8] is injective on (8, 8): rows rotated against bank conflicts.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const i Int)
(declare-const j Int)
(declare-const i2 Int)
(declare-const j2 Int)
(assert (and (<= 0 i) (< i 8)))
(assert (and (<= 0 j) (< j 8)))
(assert (and (<= 0 i2) (< i2 8)))
(assert (and (<= 0 j2) (< j2 8)))
; both lie at one place
(assert (= i i2))
(assert (= (mod (+ j i) 8) (mod (+ j2 i2) 8)))
(assert (or (distinct i i2) (distinct j j2)))
(check-sat)
