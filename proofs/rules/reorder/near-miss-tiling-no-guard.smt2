; A loop over [0, n) split in three, by 8 and 8, n symbolic: without the guard the last tile runs
; past n.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_NIA)
; i0 in [0, ceil(n / 64)), i1 in [0, 8), i2 in [0, 8), guard (i0 * 8 + i1) * 8 + i2 < n
(declare-const n Int)
(assert (and (<= 0 n) (<= n 2147418112)))
(define-fun flat ((a Int) (b Int) (c Int)) Int (+ (* (+ (* a 8) b) 8) c))
(define-fun inside ((a Int) (b Int) (c Int)) Bool
  (and (<= 0 a) (< a (div (+ n 63) 64)) (<= 0 b) (< b 8) (<= 0 c) (< c 8)))
(declare-const a Int)
(declare-const b Int)
(declare-const c Int)
(assert (inside a b c))
(assert (not (and (<= 0 (flat a b c)) (< (flat a b c) n))))
(check-sat)
