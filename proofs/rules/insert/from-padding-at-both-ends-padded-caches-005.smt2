; A_cache[io, ii]: in bounds
; owed by padded_caches in examples/padding_at_both_ends.py
; x0 is io
; x1 is ii
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic ALL)
(declare-fun x0 () Int)
(declare-fun x1 () Int)
(assert (<= 0 x0))
(assert (< x0 2))
(assert (<= 0 x1))
(assert (< x1 8))
(assert (= x0 0))
(assert (< x1 2))
(assert (not (and (<= 0 x1) (< x1 8))))
(check-sat)
