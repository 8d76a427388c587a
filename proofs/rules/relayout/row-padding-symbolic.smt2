; j -> [j // 4, j % 4] on n columns, n symbolic: in the box of ceil(n / 4) by 4 the padding is
; exactly 4 jo + ji >= n.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const n Int)
(assert (and (<= 0 n) (<= n 2147418112)))
(declare-const jo Int)
(declare-const ji Int)
(assert (and (<= 0 jo) (< jo (div (+ n 3) 4))))
(assert (and (<= 0 ji) (< ji 4)))
(define-fun j () Int (+ (* 4 jo) ji))
(assert (distinct (>= j n) (not (and (<= 0 j) (< j n) (= (div j 4) jo) (= (mod j 4) ji)))))
(check-sat)
