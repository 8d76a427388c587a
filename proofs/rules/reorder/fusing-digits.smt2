; Two loops become one, extents symbolic: the quotient and remainder of i * n + j by n are i and
; j.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_NIA)
; for i in [0, m): for j in [0, n)   becomes   for k in [0, m * n), with i = k div n and j = k mod n
(declare-const m Int)
(declare-const n Int)
(declare-const i Int)
(declare-const j Int)
(assert (and (<= 0 i) (< i m)))
(assert (and (<= 0 j) (< j n)))
(define-fun k () Int (+ (* i n) j))
(assert (not (and (= (div k n) i) (= (mod k n) j))))
(check-sat)
