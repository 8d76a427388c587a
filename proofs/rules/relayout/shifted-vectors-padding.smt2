; The padding of i -> [(i + 2) // 8, (i + 2) % 8] on 14 elements in a box of (2, 8) is exactly io
; = 0 and ii < 2.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const io Int)
(declare-const ii Int)
(assert (and (<= 0 io) (< io 2)))
(assert (and (<= 0 ii) (< ii 8)))
(define-fun i () Int (- (+ (* 8 io) ii) 2))
(define-fun element () Bool (and (<= 0 i) (< i 14) (= (div (+ i 2) 8) io) (= (mod (+ i 2) 8) ii)))
(assert (distinct (and (= io 0) (< ii 2)) (not element)))
(check-sat)
