; A store is dead if a later loop certainly overwrites its element: the instance j = i does.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
; for i in [0, 8): B[i] = 0.0, and later for j in [0, 8): B[j] = ...
(declare-const i Int)
(assert (and (<= 0 i) (< i 8)))
; the instance j = i of the overwriting statement is none of its iterations
(assert (not (and (<= 0 i) (< i 8))))
(check-sat)
