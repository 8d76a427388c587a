; (i + 7) % 8 undoes (i + 1) % 8 on 8 elements.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const i Int)
(assert (and (<= 0 i) (< i 8)))
(assert (distinct (mod (+ (mod (+ i 1) 8) 7) 8) i))
(check-sat)
