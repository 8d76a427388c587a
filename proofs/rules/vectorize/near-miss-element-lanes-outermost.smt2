; for i in [lo, lo + 4): B[i] = ..., where an element of B has 2 lanes
; With lane l as lane l div 4 of iteration l mod 4 the scalars go elsewhere.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const lo Int)
(declare-const lane Int)
(assert (and (<= 0 lane) (< lane 8)))
; the scalar that the loop stores, in iteration lo + (mod lane 4), and the vector's
(assert (distinct (+ (* 2 (+ lo (mod lane 4))) (div lane 4)) (+ (* 2 lo) lane)))
(check-sat)
