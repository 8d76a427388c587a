; A window of four runs past the end in the last iteration.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const y Int)
(declare-const p Int)
(assert (and (<= 0 y) (< y 14)))
(assert (and (<= 0 p) (< p 4)))
(assert (not (and (<= 0 (+ y p)) (< (+ y p) 16))))
(check-sat)
