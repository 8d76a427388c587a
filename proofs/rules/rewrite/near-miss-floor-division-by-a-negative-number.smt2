; For a negative divisor it is not: 7 div -2 is -3 in SMT-LIB, and -4 rounded down.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const q Int)
(assert (and (>= (* q (- 2)) 7) (< (* (+ q 1) (- 2)) 7)))   ; q = floor(7 / -2)
(assert (distinct q (div 7 (- 2))))
(check-sat)
