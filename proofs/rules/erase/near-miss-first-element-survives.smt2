; A later loop that starts at 1 leaves the first element.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
; for i in [0, 8): B[i] = 0.0, and later for j in [1, 8): B[j] = ...
(declare-const i Int)
(assert (and (<= 0 i) (< i 8)))
; the instance j = i of the overwriting statement is none of its iterations
(assert (not (and (<= 1 i) (< i 8))))
(check-sat)
