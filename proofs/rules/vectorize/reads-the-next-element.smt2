; for i in [lo, lo + n): A[i] = A[i + 1]
; No iteration reads what an earlier one wrote.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const lo Int)
(declare-const n Int)
(declare-const first Int)
(declare-const second Int)
(assert (and (<= lo first) (< first second) (< second (+ lo n))))
; what iteration first writes, iteration second reads
(assert (= first (+ second 1)))
(check-sat)
