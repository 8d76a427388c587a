; the condition is always false here
; owed by initialised_apart in examples/matmul.py
; x0 is i
; x1 is j
; x2 is k
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic ALL)
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(declare-fun x2 () Int)
(assert (<= 0 x0))
(assert (< x0 1020))
(assert (<= 0 x1))
(assert (< x1 1000))
(assert (<= 1 x2))
(assert (< x2 514))
(assert true)
(assert (= x2 0))
(check-sat)
