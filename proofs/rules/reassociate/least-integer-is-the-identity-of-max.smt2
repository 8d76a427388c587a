; max(x, y) of int32 with the least integer is x.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_BV)
(declare-const x (_ BitVec 32))
(define-fun least () (_ BitVec 32) #x80000000)
(assert (not (= (ite (bvsgt x least) x least) x)))
(check-sat)
