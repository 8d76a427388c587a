; [i, j] -> i * (n - 1) + j is not.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_NIA)
(declare-const m Int)
(declare-const n Int)
(assert (<= 0 m))
(assert (<= 0 n))
(declare-const i Int)
(declare-const j Int)
(declare-const i2 Int)
(declare-const j2 Int)
(assert (and (<= 0 i) (< i m)))
(assert (and (<= 0 j) (< j n)))
(assert (and (<= 0 i2) (< i2 m)))
(assert (and (<= 0 j2) (< j2 n)))
; both lie at one place
(assert (= (+ (* i (- n 1)) j) (+ (* i2 (- n 1)) j2)))
(assert (or (distinct i i2) (distinct j j2)))
(check-sat)
