; A loop over [0, n) split in three, by 8 and 8, n symbolic: no old iteration is run twice; the
; digits of flat(a, b, c) are a, b and c.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
; i0 in [0, ceil(n / 64)), i1 in [0, 8), i2 in [0, 8), guard (i0 * 8 + i1) * 8 + i2 < n
(declare-const n Int)
(assert (and (<= 0 n) (<= n 2147418112)))
(define-fun flat ((a Int) (b Int) (c Int)) Int (+ (* (+ (* a 8) b) 8) c))
(define-fun inside ((a Int) (b Int) (c Int)) Bool
  (and (<= 0 a) (< a (div (+ n 63) 64)) (<= 0 b) (< b 8) (<= 0 c) (< c 8) (< (flat a b c) n)))
(declare-const a Int)
(declare-const b Int)
(declare-const c Int)
(assert (inside a b c))
(define-fun x () Int (flat a b c))
(assert (not (and (= (div x 64) a) (= (mod (div x 8) 8) b) (= (mod x 8) c))))
(check-sat)
