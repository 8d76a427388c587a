; S(x) stores B[x] and B[x + 1]: the second is stored again by the next instance.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const x Int)
(declare-const z Int)
(assert (and (<= 0 x) (< x 16)))
(assert (and (<= 0 z) (< z 16)))
(assert (< x z))
(assert (= (+ x 1) z))
(check-sat)
