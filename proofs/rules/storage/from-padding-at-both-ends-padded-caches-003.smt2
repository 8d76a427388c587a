; the padding of A_cache is exactly where no element lives
; owed by padded_caches in examples/padding_at_both_ends.py
; x0 is io
; x1 is ii
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic ALL)
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(assert (and (<= 0 x0) (< x0 2)))
(assert (and (<= 0 x1) (< x1 8)))
(assert (and (<= 0 x0) (< x0 2)))
(assert (and (<= 0 x1) (< x1 8)))
(assert (let ((l0 (+ (* 8 x0) x1))) (let ((l1 (+ l0 (- 2)))) (not (= (and (= x0 0) (< x1 2)) (not (and (<= 0 l1) (< l1 14) (= (div l0 8) x0) (= (mod l0 8) x1))))))))
(check-sat)
