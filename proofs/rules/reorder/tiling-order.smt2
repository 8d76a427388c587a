; A loop over [0, n) split in three, by 8 and 8, n symbolic: the iterations keep their order, so
; no dependence needs to be looked at.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_NIA)
; i0 in [0, ceil(n / 64)), i1 in [0, 8), i2 in [0, 8), guard (i0 * 8 + i1) * 8 + i2 < n
(declare-const n Int)
(assert (and (<= 0 n) (<= n 2147418112)))
(define-fun flat ((a Int) (b Int) (c Int)) Int (+ (* (+ (* a 8) b) 8) c))
(define-fun inside ((a Int) (b Int) (c Int)) Bool
  (and (<= 0 a) (< a (div (+ n 63) 64)) (<= 0 b) (< b 8) (<= 0 c) (< c 8) (< (flat a b c) n)))
(define-fun before ((a Int) (b Int) (c Int) (d Int) (e Int) (g Int)) Bool
  (or (< a d) (and (= a d) (or (< b e) (and (= b e) (< c g))))))
(declare-const a Int)
(declare-const b Int)
(declare-const c Int)
(assert (inside a b c))
(declare-const a2 Int)
(declare-const b2 Int)
(declare-const c2 Int)
(assert (inside a2 b2 c2))
(assert (< (flat a b c) (flat a2 b2 c2)))
(assert (not (before a b c a2 b2 c2)))
(check-sat)
