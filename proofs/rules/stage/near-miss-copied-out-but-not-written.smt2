; Nothing is copied in, and S writes every other element: the copy out would store the others, which were defined.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_UFLIA)
(declare-const p Int)
(declare-fun written (Int) Bool)
(declare-fun defined (Int) Bool)
(assert (and (<= 0 p) (< p 8)))
(assert (=> (= (mod p 2) 0) (written p)))
(assert (not (or (written p) (not (defined p)))))
(check-sat)
