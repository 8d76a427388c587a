; One element at the exits of three programs: its value, and whether it is defined
; Where one step is not asked for, nothing follows.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const a Int)
(declare-const b Int)
(declare-const c Int)
(declare-const a.def Bool)
(declare-const b.def Bool)
(declare-const c.def Bool)
(assert (=> a.def (and b.def (= a b)))) ; the second program refines the first
; but not the first
(assert (not (=> a.def (and c.def (= a c)))))
(check-sat)
