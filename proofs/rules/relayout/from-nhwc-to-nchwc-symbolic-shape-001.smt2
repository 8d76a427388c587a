; the new extents of A are not negative
; owed by symbolic_shape in examples/nhwc_to_nchwc.py
; x0 is N
; x1 is H
; x2 is W
; x3 is C
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic ALL)
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(declare-fun x2 () Int)
(declare-fun x3 () Int)
(assert (<= 0 x0))
(assert (<= x0 2147418112))
(assert (<= 0 x1))
(assert (<= x1 2147418112))
(assert (<= 0 x2))
(assert (<= x2 2147418112))
(assert (<= 0 x3))
(assert (<= x3 2147418112))
(assert (<= 0 x0))
(assert (<= x0 2147418112))
(assert (<= 0 x1))
(assert (<= x1 2147418112))
(assert (<= 0 x2))
(assert (<= x2 2147418112))
(assert (<= 0 x3))
(assert (<= x3 2147418112))
(assert (<= (* (* (* x0 x1) x2) x3) 2147418112))
(assert (<= 0 x0))
(assert (<= x0 2147418112))
(assert (<= 0 x1))
(assert (<= x1 2147418112))
(assert (<= 0 x2))
(assert (<= x2 2147418112))
(assert (<= 0 x3))
(assert (<= x3 2147418112))
(assert (<= (* (* (* x0 x1) x2) x3) 2147418112))
(assert (not (and (<= 0 x0) (<= 0 (div (+ x3 3) 4)) (<= 0 x1) (<= 0 x2))))
(check-sat)
