; Row r is computed from row r of A.  Since then rows after r were stored to B: none of these stores meets A's row r,
; nor B's.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const r Int)
(declare-const later Int)
(declare-const c Int)
(declare-const d Int)
(assert (< r later))
(assert (and (<= 0 c) (< c 16) (<= 0 d) (< d 16)))
(assert (not (distinct (+ (* 16 r) c) (+ (* 16 later) d))))
(check-sat)
