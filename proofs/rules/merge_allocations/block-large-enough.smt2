; A block of s elements of 2 bytes holds a buffer of n elements of 4 bytes
; Every element lies inside, all its bytes.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const n Int)
(declare-const s Int)
(declare-const x Int)
(assert (and (<= 0 n) (<= 0 s) (<= 0 x) (< x n)))
(assert (<= (* 4 n) (* 2 s))) ; the block holds the buffer's bytes
; four bytes of an element lie outside the block
(assert (not (<= (+ (* 4 x) 4) (* 2 s))))
(check-sat)
