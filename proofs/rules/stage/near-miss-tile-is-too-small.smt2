; Three elements are too few.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const i Int)
(declare-const j Int)
(declare-const x Int)
(assert (and (<= 0 i) (< i 4)))
(assert (and (<= 0 j) (< j 4)))
(assert (= x (+ (* 4 i) j)))
(assert (not (and (<= 0 (- x (* 4 i))) (< (- x (* 4 i)) 3))))
(check-sat)
