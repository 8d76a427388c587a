; Initialised in iteration 7, the earlier reads see what was there before.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const k Int)
(assert (and (<= 0 k) (< k 8)))
(assert (not (or (= k 7) (and (and (<= 0 7) (< 7 k)) (= 7 7)))))
(check-sat)
