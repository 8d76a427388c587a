; What an iteration touches fits a buffer of 4 elements at x - 4 i.
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
(assert (not (and (<= 0 (- x (* 4 i))) (< (- x (* 4 i)) 4))))
(check-sat)
