; b - x - y - z is no sum: grouped the same way it is another number.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_BV)
(declare-const b (_ BitVec 32))
(declare-const x (_ BitVec 32))
(declare-const y (_ BitVec 32))
(declare-const z (_ BitVec 32))
(assert (not (= (bvsub (bvsub (bvsub b x) y) z) (bvsub (bvsub b (bvsub (bvsub #x00000000 x) z)) (bvsub #x00000000 y)))))
(check-sat)
