; Read at B[i] instead, the inserted store would be seen.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const i Int)
(declare-const k Int)
(assert (and (<= 0 i) (< i 8)))
(assert (and (<= 0 k) (< k 8)))
(assert (= i k))
(check-sat)
