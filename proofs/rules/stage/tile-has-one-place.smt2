; A tile of 8 x 8 at (i0, j0): each element of the region has one place in the copy, and each place one element.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const i0 Int)
(declare-const j0 Int)
(declare-const x Int)
(declare-const y Int)
; the region: the inverse (p, q) |-> (i0 + p, j0 + q) over the box of the copy
(assert (and (<= i0 x) (< x (+ i0 8)) (<= j0 y) (< y (+ j0 8))))
(define-fun p () Int (- x i0))
(define-fun q () Int (- y j0))
(assert (not (and (<= 0 p) (< p 8) (<= 0 q) (< q 8) (= (+ i0 p) x) (= (+ j0 q) y))))
(check-sat)
