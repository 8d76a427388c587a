; for i in [lo, lo + n): A[i] = A[i - 1]
; An iteration reads what the one before it wrote.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const lo Int)
(declare-const n Int)
(declare-const first Int)
(declare-const second Int)
(assert (and (<= lo first) (< first second) (< second (+ lo n))))
; what iteration first writes, iteration second reads
(assert (= first (- second 1)))
(check-sat)
