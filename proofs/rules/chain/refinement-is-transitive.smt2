; One element at the exits of three programs: its value, and whether it is defined
; Two refinements, one after the other, are one.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const a Int)
(declare-const b Int)
(declare-const c Int)
(declare-const a.def Bool)
(declare-const b.def Bool)
(declare-const c.def Bool)
(assert (=> a.def (and b.def (= a b)))) ; the second program refines the first
(assert (=> b.def (and c.def (= b c)))) ; the third program refines the second
; but not the first
(assert (not (=> a.def (and c.def (= a c)))))
(check-sat)
