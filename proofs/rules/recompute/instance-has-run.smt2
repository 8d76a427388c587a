; for i in [0, n): S(i), and then for j in [0, n / 2): S(2 j) again: the witness 2 j is an iteration of the first loop.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const n Int)
(declare-const j Int)
(assert (and (<= 0 j) (< j (div n 2))))
(assert (not (and (<= 0 (* 2 j)) (< (* 2 j) n))))
(check-sat)
