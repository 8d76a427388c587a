; for x in [0, 16): S(x); for y in [0, 14): for p in [0, 3): S(y + p) again: each of these
; instances has run before.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const y Int)
(declare-const p Int)
(assert (and (<= 0 y) (< y 14)))
(assert (and (<= 0 p) (< p 3)))
(assert (not (and (<= 0 (+ y p)) (< (+ y p) 16))))
(check-sat)
