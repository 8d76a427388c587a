; a 4 x 4 view with strides s and 1 of a block, whose rows may overlap
; Two of its indices mean one element, which a function with an array of its own would not see.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_NIA)
(declare-const s Int)
(declare-const i Int)
(declare-const j Int)
(declare-const k Int)
(declare-const l Int)
(assert (<= 3 s))
(assert (and (<= 0 i 3) (<= 0 j 3) (<= 0 k 3) (<= 0 l 3)))
(assert (or (distinct i k) (distinct j l)))
(assert (= (+ (* i s) j) (+ (* k s) l)))
(check-sat)
