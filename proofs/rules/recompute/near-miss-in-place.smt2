; A[i] = A[i] * 2 reads what it writes: the run itself has stored to its own input.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const i Int)
(declare-const read Int)
(declare-const stored Int)
(assert (and (= read i) (= stored i)))
(assert (not (distinct read stored)))
(check-sat)
