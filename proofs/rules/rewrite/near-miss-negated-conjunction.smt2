; RFC 77 turned not (i < 2) and not (i + f < 2) into i >= 2 or i + f >= 2. It is a conjunction.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const i Int)
(declare-const f Int)
(assert (and (<= 0 i) (< i 4) (<= 0 f) (< f 4)))
(assert (distinct (and (not (< i 2)) (not (< (+ i f) 2))) (or (>= i 2) (>= (+ i f) 2))))
(check-sat)
