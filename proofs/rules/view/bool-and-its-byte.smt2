; B[x] = v becomes B'[x] = int8(v), and B[x] becomes bool(B'[x])
; What is read is what was stored.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const v Bool)
(declare-const x Int)
(assert (= x (ite v 1 0))) ; the byte of v
; read back as a bool it is another value
(assert (distinct (distinct x 0) v))
(check-sat)
