; i -> [(i + 2) // 8, (i + 2) % 8] is injective.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const i Int)
(declare-const i2 Int)
(assert (and (<= 0 i) (< i 14)))
(assert (and (<= 0 i2) (< i2 14)))
; both lie at one place
(assert (= (div (+ i 2) 8) (div (+ i2 2) 8)))
(assert (= (mod (+ i 2) 8) (mod (+ i2 2) 8)))
(assert (distinct i i2))
(check-sat)
