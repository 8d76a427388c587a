; B is 14 elements in 4 by 4; the last statement is: where 4 io + ii >= 14: B[io, ii] = B[0, (4 io + ii - 14) mod 4]
; At the end the padding holds what the elements that it repeats hold then: no padding is among those.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_UFLIA)
(declare-fun before (Int Int) Int)
(declare-fun after (Int Int) Int)
(declare-const io Int)
(declare-const ii Int)
(assert (and (<= 0 io) (< io 4) (<= 0 ii) (< ii 4)))
(define-fun padding ((y Int) (z Int)) Bool (>= (+ (* 4 y) z) 14))
(define-fun source () Int (mod (- (+ (* 4 io) ii) 14) 4))
(assert (padding io ii))
(assert (= (after io ii) (before 0 source))) ; it was stored
(assert (=> (not (padding 0 source)) (= (after 0 source) (before 0 source)))) ; the statement stores to padding only
(assert (not (= (after io ii) (after 0 source))))
(check-sat)
