; B[i, j] with rows of 9 is not V[8 * i + j]
; The last flat index leaves a view of 8 * n elements.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const i Int)
(declare-const j Int)
(declare-const n Int)
(assert (and (<= 0 i) (< i n) (<= 0 j) (< j 9)))
; the flat index leaves a view of 8 * n elements
(assert (not (and (<= 0 (+ (* 8 i) j)) (< (+ (* 8 i) j) (* 8 n)))))
(check-sat)
