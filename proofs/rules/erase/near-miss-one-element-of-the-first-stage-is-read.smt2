; The later loop writes t[1 .. 8) only: the read of t[0] sees what S stored.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_UFLIA)
(declare-const i Int)
(declare-fun written-after (Int) Bool)
(assert (and (<= 0 i) (< i 8)))
(assert (=> (and (<= 1 i) (< i 8)) (written-after i)))
(assert (not (written-after i)))
(check-sat)
