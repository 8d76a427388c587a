; A[2 i] = A[2 i + 1]: even elements are written, odd ones read.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
; iterations i < i2 of the marked loop; inner loops run over j and j2
(declare-const n Int)
(declare-const i Int)
(declare-const i2 Int)
(assert (and (<= 0 i) (< i n) (<= 0 i2) (< i2 n) (< i i2)))
(assert (or (= (* 2 i) (+ (* 2 i2) 1)) (= (+ (* 2 i) 1) (* 2 i2)) (= (* 2 i) (* 2 i2))))
(check-sat)
