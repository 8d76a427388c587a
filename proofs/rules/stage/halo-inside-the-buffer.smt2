; A halo of one on either side of a tile of four, cut where the buffer of ten ends.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const i Int)
(declare-const y Int)
(assert (and (<= 0 i) (< i 3)))
(assert (and (<= 0 y) (< y 6)))
(assert (>= (+ y (* 4 i)) 1))
(assert (< (+ y (* 4 i)) 11))
(assert (not (and (<= 0 (+ y (- (* 4 i) 1))) (< (+ y (- (* 4 i) 1)) 10))))
(check-sat)
