; B[4 * i : 4 * i + 4] is element i of a view with four lanes
; Both name the same scalars.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const i Int)
(declare-const l Int)
(assert (and (<= 0 i) (<= 0 l) (< l 4)))
; lane l of B[4 * i : 4 * i + 4] and of element i of the view
(assert (distinct (+ (* 4 i) l) (+ (* 4 i) l)))
(check-sat)
