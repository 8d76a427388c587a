; the loop over c_1 is vectorized: no two of its iterations write and write the same element of B
; owed by constant_shape in examples/nhwc_to_nchwc.py
; x0 is c_0
; x1 is h
; x2 is w
; x3 is c_1
; x4 is c_1'
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic ALL)
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(declare-fun x2 () Int)
(declare-fun x3 () Int)
(declare-fun x4 () Int)
(assert (<= 0 x0))
(assert (< x0 16))
(assert (<= 0 x1))
(assert (< x1 28))
(assert (<= 0 x2))
(assert (< x2 28))
(assert (and (<= 0 x3) (< x3 4)))
(assert (and (<= 0 x4) (< x4 4)))
(assert (< x3 x4))
(assert (= x3 x4))
(check-sat)
