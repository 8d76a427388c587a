; The other way round: int8(bool(x)) is not x
; A byte other than 0 and 1 is lost. So a buffer with a view of its bytes is refused.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const v Bool)
(declare-const x Int)
(assert (and (<= (- 128) x) (<= x 127)))
(assert (= v (distinct x 0))) ; some byte, read as a bool
; the byte of that bool is another one
(assert (distinct (ite v 1 0) x))
(check-sat)
