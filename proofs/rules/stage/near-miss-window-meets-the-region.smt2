; A window that starts at 3 does.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const a Int)
(declare-const y Int)
(assert (and (<= 0 a) (< a 4)))
(assert (and (<= 0 y) (< y 4)))
(assert (= (+ 3 a) y))
(check-sat)
