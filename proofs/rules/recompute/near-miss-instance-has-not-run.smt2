; for i in [0, n): S(i), and then for j in [0, n / 2]: S(2 j) again: the last one may never have run.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const n Int)
(declare-const j Int)
(assert (<= 0 n))
(assert (and (<= 0 j) (<= j (div n 2))))
(assert (not (and (<= 0 (* 2 j)) (< (* 2 j) n))))
(check-sat)
