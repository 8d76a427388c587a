; S fills t; then for i: t[i] = ...; then t[i] is read for i in [0, 8): each read has a write after S as witness.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_UFLIA)
(declare-const i Int)
(declare-fun written-after (Int) Bool)
(assert (and (<= 0 i) (< i 8)))
; the instance of the later store at iteration i
(assert (=> (and (<= 0 i) (< i 8)) (written-after i)))
(assert (not (written-after i)))
(check-sat)
