; Without a <= m <= b, an empty range [a, b) cut at a larger m gains iterations.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const a Int)
(declare-const m Int)
(declare-const b Int)
(declare-const i Int)
; nothing is known of m
; i is an iteration of one side only, or of both parts at once
(assert (or (distinct (and (<= a i) (< i b))
                      (or (and (<= a i) (< i m)) (and (<= m i) (< i b))))
            (and (<= a i) (< i m) (<= m i) (< i b))))
(check-sat)
