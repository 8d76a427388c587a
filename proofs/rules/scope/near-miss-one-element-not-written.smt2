; The last element is carried over from the iteration before.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_UFLIA)
; one iteration writes t[0 .. 7) and then reads t[j] for j in [0, 8)
(declare-const j Int)
(assert (and (<= 0 j) (< j 8)))
(declare-fun written (Int) Bool)
(assert (=> (and (<= 0 j) (< j 7)) (written j)))
(assert (not (written j)))
(check-sat)
