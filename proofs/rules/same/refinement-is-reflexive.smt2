; One element at the exit of one program, run twice: every run is the same run
; It refines itself.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const a Int)
(declare-const a.def Bool)
(declare-const b Int)
(declare-const b.def Bool)
(assert (and (= a b) (= a.def b.def))) ; the same run
(assert (not (=> a.def (and b.def (= a b)))))
(check-sat)
