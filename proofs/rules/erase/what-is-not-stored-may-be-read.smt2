; S: for x in [0, n): t[x] = ...; later t[n] is read, which nothing stored after S: no x of S stores it.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const n Int)
(declare-const x Int)
(assert (and (<= 0 x) (< x n)))
; the read is of the element that S stores at x
(assert (= x n))
(check-sat)
