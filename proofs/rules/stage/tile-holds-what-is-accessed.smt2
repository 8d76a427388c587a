; C[4 * i + j], j in [0, 4), through the tile x - 4 * i of four elements.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const i Int)
(declare-const j Int)
(declare-const x Int)
(assert (and (<= 0 i) (< i 4)))
(assert (and (<= 0 j) (< j 4)))
(assert (= x (+ (* 4 i) j)))
(assert (not (and (and (<= 0 (- x (* 4 i))) (< (- x (* 4 i)) 4)) (= (+ (* 4 i) (- x (* 4 i))) x))))
(check-sat)
