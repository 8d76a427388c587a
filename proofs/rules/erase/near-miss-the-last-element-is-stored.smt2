; S: for x in [0, n): t[x] = ...; later t[n - 1] is read, which S stored if it ran at all.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const n Int)
(declare-const x Int)
(assert (and (<= 0 x) (< x n)))
(assert (= x (- n 1)))
(check-sat)
