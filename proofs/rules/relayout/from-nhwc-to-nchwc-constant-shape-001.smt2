; no two elements of A are mapped to one place
; owed by constant_shape in examples/nhwc_to_nchwc.py
; x0 is n
; x1 is h
; x2 is w
; x3 is c
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic ALL)
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(declare-fun x2 () Int)
(declare-fun x3 () Int)
(assert (and (<= 0 x0) (< x0 1)))
(assert (and (<= 0 x1) (< x1 28)))
(assert (and (<= 0 x2) (< x2 28)))
(assert (and (<= 0 x3) (< x3 64)))
(assert (and (<= 0 x0) (< x0 1)))
(assert (and (<= 0 x1) (< x1 28)))
(assert (and (<= 0 x2) (< x2 28)))
(assert (and (<= 0 x3) (< x3 64)))
(assert (not (and (= 0 x0) (= (+ (* 4 (div x3 4)) (mod x3 4)) x3))))
(check-sat)
