; Every read sees a write of its own iteration.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_UFLIA)
; one iteration writes t[0 .. 8) and then reads t[j] for j in [0, 8)
(declare-const j Int)
(assert (and (<= 0 j) (< j 8)))
(declare-fun written (Int) Bool)
(assert (=> (and (<= 0 j) (< j 8)) (written j)))
(assert (not (written j)))
(check-sat)
