; It is not enough that m <= b: below a, the second part runs iterations that never ran.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const a Int)
(declare-const m Int)
(declare-const b Int)
(declare-const i Int)
(assert (<= m b))
; i is an iteration of one side only, or of both parts at once
(assert (or (distinct (and (<= a i) (< i b))
                      (or (and (<= a i) (< i m)) (and (<= m i) (< i b))))
            (and (<= a i) (< i m) (<= m i) (< i b))))
(check-sat)
