; The same for a symbolic extent; if it is less than 3, the consumer makes no iteration.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const n Int)
(declare-const y Int)
(declare-const p Int)
(assert (<= 0 n))
(assert (and (<= 0 y) (< y (- n 2))))
(assert (and (<= 0 p) (< p 3)))
(assert (not (and (<= 0 (+ y p)) (< (+ y p) n))))
(check-sat)
