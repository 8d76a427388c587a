; no instance of the store to C at (0, 0, 0) touches the element
; owed by initialised_apart in examples/matmul.py
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
(assert (<= 1 x2))
(assert (< x2 514))
(assert (= x2 0))
(assert true)
(assert (<= 0 x3))
(assert (< x3 1))
(assert (= x3 0))
(assert true)
(check-sat)
