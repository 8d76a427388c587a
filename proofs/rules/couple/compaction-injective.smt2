; No two touched elements share a place.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
; iteration i touches t[4 i + j] for j in [0, 4); the compacted buffer has 4 elements
(declare-const i Int)
(declare-const x Int)
(declare-const y Int)
(assert (and (<= (* 4 i) x) (< x (+ (* 4 i) 4))))
(assert (and (<= (* 4 i) y) (< y (+ (* 4 i) 4))))
(assert (= (- x (* 4 i)) (- y (* 4 i))))
(assert (distinct x y))
(check-sat)
