; The identity does not.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const i Int)
(assert (and (<= 0 i) (< i 8)))
(assert (distinct (mod (+ i 1) 8) i))
(check-sat)
