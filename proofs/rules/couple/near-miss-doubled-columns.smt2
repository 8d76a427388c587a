; [i, j] -> [i, (2 j) % 8] is not.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
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
(assert (= (mod (* 2 j) 8) (mod (* 2 j2) 8)))
(assert (or (distinct i i2) (distinct j j2)))
(check-sat)
