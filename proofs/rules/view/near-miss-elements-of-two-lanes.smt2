; B[4 * i : 4 * i + 4] is not made of lanes 0 to 3 from element i on, where an element has two lanes
; The scalars are others.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const i Int)
(declare-const l Int)
(assert (and (<= 0 i) (<= 0 l) (< l 4)))
; lane l of B[4 * i : 4 * i + 4] and of element i of the view
(assert (distinct (+ (* 4 i) l) (+ (* 2 i) l)))
(check-sat)
