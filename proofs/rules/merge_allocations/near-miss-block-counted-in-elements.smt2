; A block of s elements of 2 bytes does not hold a buffer of s elements of 4 bytes
; Counted in elements it does; its bytes are too few.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const n Int)
(declare-const s Int)
(declare-const x Int)
(assert (and (<= 0 n) (<= 0 s) (<= 0 x) (< x n)))
(assert (<= (* 4 n) (* 4 s))) ; the block holds the buffer's bytes
; four bytes of an element lie outside the block
(assert (not (<= (+ (* 4 x) 4) (* 2 s))))
(check-sat)
