; A is [n] as written and [ceil(n / 4), 4] now
; That A[x] >= 0 for all x < n says nothing of the padding, where 4 io + ii >= n.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_UFLIA)
(declare-const n Int)
(assert (and (<= 0 n) (<= n 2147418112)))
(declare-fun M (Int) Int)
(declare-fun N (Int Int) Int)
(declare-const io Int)
(declare-const ii Int)
(assert (and (<= 0 io) (< io (div (+ n 3) 4)) (<= 0 ii) (< ii 4)))
(define-fun x () Int (+ (* 4 io) ii))
(assert (=> (< x n) (and (= (N io ii) (M x)) (>= (M x) 0))))
(assert (not (>= (N io ii) 0)))
(check-sat)
