; for i in [0, 15): A[i] = A[i + 1], all of A copied before: the store of iteration i comes after every read of A[i].
; A read of iteration j, of A[j + 1], that comes after the store of an earlier iteration i, is of another element.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const i Int)
(declare-const j Int)
(assert (and (<= 0 i) (< i 15)))
(assert (and (<= 0 j) (< j 15)))
; the store of i comes before the read of j
(assert (< i j))
(assert (= i (+ j 1)))
(check-sat)
