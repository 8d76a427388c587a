; no instance of the store to A_cache at (0, 0) touches the element
; owed by padded_caches in examples/padding_at_both_ends.py
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic ALL)
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(declare-fun f2 (Int Int) Bool)
(declare-fun x3 () Int)
(assert (<= 0 x0))
(assert (< x0 2))
(assert (<= 0 x1))
(assert (< x1 8))
(assert (= x0 0))
(assert (< x1 2))
(assert (f2 x0 x1))
(assert (<= 0 x3))
(assert (< x3 14))
(assert (let ((l0 (+ x3 2))) (and (= (div l0 8) x0) (= (mod l0 8) x1))))
(check-sat)
