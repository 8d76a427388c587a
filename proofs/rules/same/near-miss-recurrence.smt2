; A[i + 1] = A[i]: an iteration reads what the one before wrote.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
; iterations i < i2 of the marked loop; inner loops run over j and j2
(declare-const n Int)
(declare-const i Int)
(declare-const i2 Int)
(assert (and (<= 0 i) (< i n) (<= 0 i2) (< i2 n) (< i i2)))
(assert (= (+ i 1) i2))
(check-sat)
