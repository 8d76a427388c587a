; for i in [0, n) and for j in [1, n) end at one place and start at two; they do not run the same
; iterations.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const n Int)
(declare-const i Int)
(assert (<= 2 n))
(assert (distinct (and (<= 0 i) (< i n)) (and (<= 1 i) (< i n))))
(check-sat)
