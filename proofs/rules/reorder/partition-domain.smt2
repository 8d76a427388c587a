; For a <= m <= b the ranges [a, m) and [m, b) have together the iterations of [a, b), each once.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const a Int)
(declare-const m Int)
(declare-const b Int)
(declare-const i Int)
(assert (and (<= a m) (<= m b)))
; i is an iteration of one side only, or of both parts at once
(assert (or (distinct (and (<= a i) (< i b))
                      (or (and (<= a i) (< i m)) (and (<= m i) (< i b))))
            (and (<= a i) (< i m) (<= m i) (< i b))))
(check-sat)
