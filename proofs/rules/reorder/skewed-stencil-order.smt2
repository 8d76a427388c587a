; A three-point stencil in time: skewed by one per step, with the skewed space loop outside, every
; dependence keeps its order.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
; A[t + 1, x + 1] = f(A[t, x], A[t, x + 1], A[t, x + 2])
(declare-const t Int)
(declare-const x Int)
(declare-const t2 Int)
(declare-const x2 Int)
(declare-const d Int)
(assert (and (<= 0 t) (< t 8) (<= 0 x) (< x 32)))
(assert (and (<= 0 t2) (< t2 8) (<= 0 x2) (< x2 32)))
(assert (and (<= 0 d) (<= d 2)))
; (t, x) comes first and writes what (t2, x2) reads
(assert (or (< t t2) (and (= t t2) (< x x2))))
(assert (and (= (+ t 1) t2) (= (+ x 1) (+ x2 d))))
; new order: (x + t, t) lexicographically
(assert (not (or (< (+ x t) (+ x2 t2)) (and (= (+ x t) (+ x2 t2)) (< t t2)))))
(check-sat)
