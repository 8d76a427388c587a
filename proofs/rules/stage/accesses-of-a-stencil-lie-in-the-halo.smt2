; for i in [0, 8): A[i0 + i - 1], A[i0 + i], A[i0 + i + 1]: a copy of ten elements from i0 - 1 holds them all.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const i0 Int)
(declare-const i Int)
(declare-const d Int)
(assert (and (<= 0 i) (< i 8)))
(assert (and (<= (- 1) d) (<= d 1)))
(define-fun place () Int (- (+ i0 i d) (- i0 1)))
(assert (not (and (<= 0 place) (< place 10))))
(check-sat)
