; Without the condition the copy reads A[-1].
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const i Int)
(declare-const y Int)
(assert (and (<= 0 i) (< i 3)))
(assert (and (<= 0 y) (< y 6)))
(assert (not (and (<= 0 (+ y (- (* 4 i) 1))) (< (+ y (- (* 4 i) 1)) 10))))
(check-sat)
