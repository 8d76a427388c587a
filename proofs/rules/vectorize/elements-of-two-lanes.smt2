; for i in [lo, lo + 4): B[i] = ..., where an element of B has 2 lanes
; Lane l of the vector store is lane l mod 2 of iteration l div 2: element lanes are innermost.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const lo Int)
(declare-const lane Int)
(assert (and (<= 0 lane) (< lane 8)))
; the scalar that the loop stores, in iteration lo + (div lane 2), and the vector's
(assert (distinct (+ (* 2 (+ lo (div lane 2))) (mod lane 2)) (+ (* 2 lo) lane)))
(check-sat)
