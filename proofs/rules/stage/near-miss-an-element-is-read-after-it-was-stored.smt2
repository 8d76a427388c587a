; for i in [0, 15): A[i + 1] = A[i]: iteration j reads what iteration j - 1 stored, and the copy still holds the old.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const i Int)
(declare-const j Int)
(assert (and (<= 0 i) (< i 15)))
(assert (and (<= 0 j) (< j 15)))
(assert (< i j))
(assert (= (+ i 1) j))
(check-sat)
