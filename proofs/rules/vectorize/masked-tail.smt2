; for k in vectorized(4): if 4 * o + k < n: B[4 * o + k] = ...
; A lane whose mask is true lies within the buffer.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const n Int)
(declare-const o Int)
(declare-const k Int)
(assert (and (<= 0 o) (<= 0 k) (< k 4)))
(assert (< (+ (* 4 o) k) n)) ; the lane's mask
; the lane leaves the buffer of n elements
(assert (not (and (<= 0 (+ (* 4 o) k)) (< (+ (* 4 o) k) n))))
(check-sat)
