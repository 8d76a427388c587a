; A loop over [0, n) split in three, by 8 and 8, n symbolic: an inner loop of 7 instead of 8
; leaves iterations out.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_NIA)
; i0 in [0, ceil(n / 64)), i1 in [0, 8), i2 in [0, 8), guard (i0 * 8 + i1) * 8 + i2 < n
(declare-const n Int)
(assert (and (<= 0 n) (<= n 2147418112)))
(define-fun flat ((a Int) (b Int) (c Int)) Int (+ (* (+ (* a 8) b) 8) c))
(define-fun inside ((a Int) (b Int) (c Int)) Bool
  (and (<= 0 a) (< a (div (+ n 63) 64)) (<= 0 b) (< b 8) (<= 0 c) (< c 7) (< (flat a b c) n)))
(declare-const x Int)
(assert (and (<= 0 x) (< x n)))
(assert (not (inside (div x 64) (mod (div x 8) 8) (mod x 8))))
(check-sat)
