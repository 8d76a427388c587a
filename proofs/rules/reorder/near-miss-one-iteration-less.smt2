; The last iteration of [3, 3 + 4) is 6.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const i Int)
(assert (distinct (and (<= 3 i) (< i (+ 3 4))) (or (= i 3) (= i 4) (= i 5))))
(check-sat)
