; A buffer of 2 elements, at (x - 4 i) mod 2, is shared.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
; iteration i touches t[4 i + j] for j in [0, 4); the compacted buffer has 2 elements
(declare-const i Int)
(declare-const x Int)
(declare-const y Int)
(assert (and (<= (* 4 i) x) (< x (+ (* 4 i) 4))))
(assert (and (<= (* 4 i) y) (< y (+ (* 4 i) 4))))
(assert (= (mod (- x (* 4 i)) 2) (mod (- y (* 4 i)) 2)))
(assert (distinct x y))
(check-sat)
