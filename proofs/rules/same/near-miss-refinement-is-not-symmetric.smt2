; One element at the exits of two programs
; That one refines the other says nothing of the converse: undef may become anything, and not back.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const a Int)
(declare-const a.def Bool)
(declare-const b Int)
(declare-const b.def Bool)
(assert (=> a.def (and b.def (= a b))))
; the converse fails
(assert (not (=> b.def (and a.def (= a b)))))
(check-sat)
