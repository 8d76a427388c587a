; the loop over c_1 is vectorized: no two of its iterations write and write the same element of B
; owed by constant_shape in examples/nhwc_to_nchwc.py
; x0 is n
; x1 is c_0
; x2 is h
; x3 is w
; x4 is c_1
; x5 is c_1'
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
(assert (<= 0 x0))
(assert (< x0 1))
(assert (<= 0 x1))
(assert (< x1 16))
(assert (<= 0 x2))
(assert (< x2 28))
(assert (<= 0 x3))
(assert (< x3 28))
(assert (and (<= 0 x4) (< x4 4)))
(assert (and (<= 0 x5) (< x5 4)))
(assert (< x4 x5))
(assert (= x4 x5))
(check-sat)
