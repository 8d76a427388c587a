; The same stencil with a copy of the eight elements from i0: the neighbours are not in it.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const i0 Int)
(declare-const i Int)
(declare-const d Int)
(assert (and (<= 0 i) (< i 8)))
(assert (and (<= (- 1) d) (<= d 1)))
(define-fun place () Int (- (+ i0 i d) i0))
(assert (not (and (<= 0 place) (< place 8))))
(check-sat)
