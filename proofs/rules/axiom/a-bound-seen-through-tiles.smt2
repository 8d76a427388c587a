; A is [n] as written and [ceil(n / 4), 4] now; M and N hold the same element at x and at (x div 4, x mod 4)
; That A[x] >= 0 for all x < n is assumed of M; so N[x div 4, x mod 4] >= 0, within the new shape.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_UFLIA)
(declare-const n Int)
(assert (and (<= 0 n) (<= n 2147418112)))
(declare-fun M (Int) Int)
(declare-fun N (Int Int) Int)
(declare-const x Int)
(assert (and (<= 0 x) (< x n))) ; an arbitrary iteration of the assumption
(assert (= (N (div x 4) (mod x 4)) (M x))) ; the relation at entry
(assert (>= (M x) 0)) ; what is assumed of M
(assert (not (and (<= 0 (div x 4)) (< (div x 4) (div (+ n 3) 4)) (>= (N (div x 4) (mod x 4)) 0))))
(check-sat)
