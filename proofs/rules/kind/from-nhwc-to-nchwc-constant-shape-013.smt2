; the loop over c_0 is parallel: no two of its iterations write and write the same element of B
; owed by constant_shape in examples/nhwc_to_nchwc.py
; x0 is n
; x1 is c_0
; x2 is c_0'
; x3 is h
; x4 is w
; x5 is c_1
; x6 is h'
; x7 is w'
; x8 is c_1'
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
(declare-fun x8 () Int)
(assert (<= 0 x0))
(assert (< x0 1))
(assert (and (<= 0 x1) (< x1 16)))
(assert (and (<= 0 x2) (< x2 16)))
(assert (< x1 x2))
(assert (<= 0 x3))
(assert (< x3 28))
(assert (<= 0 x4))
(assert (< x4 28))
(assert (<= 0 x5))
(assert (< x5 4))
(assert (<= 0 x6))
(assert (< x6 28))
(assert (<= 0 x7))
(assert (< x7 28))
(assert (<= 0 x8))
(assert (< x8 4))
(assert (and (= x1 x2) (= x3 x6) (= x4 x7) (= x5 x8)))
(check-sat)
