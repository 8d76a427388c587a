; i -> (i + 1) % 8 on 8 elements is injective; its inverse is (i + 7) % 8, not the identity.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const i Int)
(declare-const i2 Int)
(assert (and (<= 0 i) (< i 8)))
(assert (and (<= 0 i2) (< i2 8)))
; both lie at one place
(assert (= (mod (+ i 1) 8) (mod (+ i2 1) 8)))
(assert (distinct i i2))
(check-sat)
