; Filled from y mod 2, four places hold two elements twice; only one of each is kept up to date.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const y Int)
(assert (and (<= 0 y) (< y 4)))
(assert (not (= (mod y 2) y)))
(check-sat)
