; That there is no padding is false.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const io Int)
(declare-const ii Int)
(assert (and (<= 0 io) (< io 2)))
(assert (and (<= 0 ii) (< ii 8)))
(define-fun i () Int (- (+ (* 8 io) ii) 2))
(define-fun element () Bool (and (<= 0 i) (< i 14) (= (div (+ i 2) 8) io) (= (mod (+ i 2) 8) ii)))
(assert (distinct false (not element)))
(check-sat)
