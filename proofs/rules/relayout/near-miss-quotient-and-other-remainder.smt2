; i -> [i // 8, i % 4] on 16 elements sends 0 and 4 to one place.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const i Int)
(declare-const i2 Int)
(assert (and (<= 0 i) (< i 16)))
(assert (and (<= 0 i2) (< i2 16)))
; both lie at one place
(assert (= (div i 8) (div i2 8)))
(assert (= (mod i 4) (mod i2 4)))
(assert (distinct i i2))
(check-sat)
