; no two elements of A are mapped to one place
; owed by symbolic_shape in examples/nhwc_to_nchwc.py
; x0 is N
; x1 is H
; x2 is W
; x3 is C
; x4 is n
; x5 is h
; x6 is w
; x7 is c
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic ALL)
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(declare-fun x2 () Int)
(declare-fun x3 () Int)
(declare-fun x4 () Int)
(declare-fun x5 () Int)
(declare-fun x6 () Int)
(declare-fun x7 () Int)
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
(assert (and (<= 0 x4) (< x4 x0)))
(assert (and (<= 0 x5) (< x5 x1)))
(assert (and (<= 0 x6) (< x6 x2)))
(assert (and (<= 0 x7) (< x7 x3)))
(assert (and (<= 0 x4) (< x4 x0)))
(assert (and (<= 0 x5) (< x5 x1)))
(assert (and (<= 0 x6) (< x6 x2)))
(assert (and (<= 0 x7) (< x7 x3)))
(assert (not (= (+ (* 4 (div x7 4)) (mod x7 4)) x7)))
(check-sat)
