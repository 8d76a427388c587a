; B is 14 elements in 4 by 4; the last statement is: where 4 io + ii >= 14: B[io, ii] = B[io, (ii + 1) mod 4]
; What is read may be padding itself, which is stored anew.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_UFLIA)
(declare-fun before (Int Int) Int)
(declare-fun after (Int Int) Int)
(declare-const io Int)
(declare-const ii Int)
(assert (and (<= 0 io) (< io 4) (<= 0 ii) (< ii 4)))
(define-fun padding ((y Int) (z Int)) Bool (>= (+ (* 4 y) z) 14))
(define-fun source () Int (mod (+ ii 1) 4))
(assert (padding io ii))
(assert (= (after io ii) (before io source)))
(assert (=> (not (padding io source)) (= (after io source) (before io source))))
(assert (not (= (after io ii) (after io source))))
(check-sat)
