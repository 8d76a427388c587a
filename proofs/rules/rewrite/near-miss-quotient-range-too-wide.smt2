; For j in [0, 5) it is not.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const i Int)
(declare-const j Int)
(assert (and (<= 0 j) (< j 5)))
(assert (not (= (div (+ (* 4 i) j) 4) i)))
(check-sat)
