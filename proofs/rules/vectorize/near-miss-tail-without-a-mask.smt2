; for k in vectorized(4): B[4 * o + k] = ...
; The last vector leaves the buffer.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const n Int)
(declare-const o Int)
(declare-const k Int)
(assert (and (<= 0 o) (<= 0 k) (< k 4)))
; the lane leaves the buffer of n elements
(assert (not (and (<= 0 (+ (* 4 o) k)) (< (+ (* 4 o) k) n))))
(check-sat)
