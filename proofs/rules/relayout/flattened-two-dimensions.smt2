; [i, j] -> i * n + j is injective for j in [0, n), n symbolic.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_NIA)
(declare-const m Int)
(declare-const n Int)
(assert (<= 0 m))
(assert (<= 0 n))
(declare-const i Int)
(declare-const j Int)
(declare-const i2 Int)
(declare-const j2 Int)
(assert (and (<= 0 i) (< i m)))
(assert (and (<= 0 j) (< j n)))
(assert (and (<= 0 i2) (< i2 m)))
(assert (and (<= 0 j2) (< j2 n)))
; both lie at one place
(assert (= (+ (* i n) j) (+ (* i2 n) j2)))
(assert (or (distinct i i2) (distinct j j2)))
(check-sat)
