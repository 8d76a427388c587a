; For a divisor above zero, SMT-LIB's div is division rounded down: q = a div b is the only
; integer with q b <= a < (q + 1) b.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_NIA)
(declare-const a Int)
(declare-const b Int)
(declare-const q Int)
(assert (< 0 b))
(assert (and (<= (* q b) a) (< a (* (+ q 1) b))))
(assert (distinct q (div a b)))
(check-sat)
