; With a negative extent the two parts and the whole differ.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const a Int)
(declare-const e1 Int)
(declare-const e2 Int)
(declare-const i Int)
(define-fun m () Int (+ a e1))
(assert (distinct (or (and (<= a i) (< i m)) (and (<= m i) (< i (+ m e2))))
                  (and (<= a i) (< i (+ a (+ e1 e2))))))
(check-sat)
