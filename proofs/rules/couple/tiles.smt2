; [i, j] -> [i // 4, j // 4, i % 4, j % 4] is injective, extents symbolic.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
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
(assert (= (div i 4) (div i2 4)))
(assert (= (div j 4) (div j2 4)))
(assert (= (mod i 4) (mod i2 4)))
(assert (= (mod j 4) (mod j2 4)))
(assert (or (distinct i i2) (distinct j j2)))
(check-sat)
