; B[i, j] with rows of 8 is V[8 * i + j]
; The flat index lies in a view of 8 * n elements.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const i Int)
(declare-const j Int)
(declare-const n Int)
(assert (and (<= 0 i) (< i n) (<= 0 j) (< j 8)))
; the flat index leaves a view of 8 * n elements
(assert (not (and (<= 0 (+ (* 8 i) j)) (< (+ (* 8 i) j) (* 8 n)))))
(check-sat)
