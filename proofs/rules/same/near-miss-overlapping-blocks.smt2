; B[4 i + j] for j in [0, 5): neighbours share an element.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
; iterations i < i2 of the marked loop; inner loops run over j and j2
(declare-const n Int)
(declare-const j Int)
(declare-const j2 Int)
(declare-const i Int)
(declare-const i2 Int)
(assert (and (<= 0 i) (< i n) (<= 0 i2) (< i2 n) (< i i2)))
(assert (and (<= 0 j) (< j 5) (<= 0 j2) (< j2 5)))
(assert (= (+ (* 4 i) j) (+ (* 4 i2) j2)))
(check-sat)
