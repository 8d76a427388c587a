; A range of extent 1 holds exactly its start.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const a Int)
(declare-const n Int)
(declare-const i Int)
(assert (= n 1))
; the iterations of [a, a + n) are not exactly {a}
(assert (distinct (and (<= a i) (< i (+ a n))) (= i a)))
(check-sat)
