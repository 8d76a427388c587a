; a 4 x 4 view with strides s and 1 of a block
; No two of its indices mean one element, if the rows are at least 4 apart.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_NIA)
(declare-const s Int)
(declare-const i Int)
(declare-const j Int)
(declare-const k Int)
(declare-const l Int)
(assert (<= 4 s))
(assert (and (<= 0 i 3) (<= 0 j 3) (<= 0 k 3) (<= 0 l 3)))
(assert (or (distinct i k) (distinct j l)))
(assert (= (+ (* i s) j) (+ (* k s) l)))
(check-sat)
