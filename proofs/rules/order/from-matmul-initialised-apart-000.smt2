; the loop may be split in two: the read and the write of C touch different elements
; owed by initialised_apart in examples/matmul.py
; x0 is i
; x1 is j
; x2 is k
; x3 is k'
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic ALL)
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(declare-fun x2 () Int)
(declare-fun x3 () Int)
(assert (<= 0 x0))
(assert (< x0 1020))
(assert (<= 0 x1))
(assert (< x1 1000))
(assert (and (<= 0 x2) (< x2 514)))
(assert (and (<= 0 x3) (< x3 514)))
(assert (< x2 x3))
(assert (= x3 0))
(assert true)
(check-sat)
