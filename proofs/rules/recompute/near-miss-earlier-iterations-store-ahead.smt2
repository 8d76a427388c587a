; A[y + 1] = 0 instead: the next iteration's input.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const y Int)
(declare-const z Int)
(assert (and (<= 0 y) (< y 8)))
(assert (and (<= 0 z) (< z 8)))
(assert (< z y))
(assert (= y (+ z 1)))
(check-sat)
