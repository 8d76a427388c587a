; for i: if i = 0: t = 0; t = t + ...: the write under the guard is not one of every iteration.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const i Int)
(declare-const n Int)
(declare-const written Bool)
(assert (and (<= 0 i) (< i n)))
(assert (=> (= i 0) written))
(assert (not written))
(check-sat)
