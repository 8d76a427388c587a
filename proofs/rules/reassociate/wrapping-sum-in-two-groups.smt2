; b + x + y + z, two of the terms summed apart: integers wrap modulo 2^32.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_BV)
(declare-const b (_ BitVec 32))
(declare-const x (_ BitVec 32))
(declare-const y (_ BitVec 32))
(declare-const z (_ BitVec 32))
(assert (not (= (bvadd (bvadd (bvadd b x) y) z) (bvadd (bvadd b (bvadd (bvadd #x00000000 x) z)) (bvadd #x00000000 y)))))
(check-sat)
