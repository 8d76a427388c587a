; At i and 4 + i some do.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const k Int)
(declare-const i Int)
(declare-const k2 Int)
(declare-const i2 Int)
(assert (and (<= 0 k) (< k 2)))
(assert (and (<= 0 i) (< i 8)))
(assert (and (<= 0 k2) (< k2 2)))
(assert (and (<= 0 i2) (< i2 8)))
; both lie at one place
(assert (= (ite (= k 0) i (+ 4 i)) (ite (= k2 0) i2 (+ 4 i2))))
(assert (or (distinct k k2) (distinct i i2)))
(check-sat)
