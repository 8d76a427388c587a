; The iterations of [3, 3 + 4) are 3, 4, 5 and 6.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const i Int)
(assert (distinct (and (<= 3 i) (< i (+ 3 4))) (or (= i 3) (= i 4) (= i 5) (= i 6))))
(check-sat)
