; With an inner range of n + 1 the digits are no longer unique.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_NIA)
; for i in [0, m): for j in [0, n)   becomes   for k in [0, m * n), with i = k div n and j = k mod n
(declare-const m Int)
(declare-const n Int)
(declare-const i Int)
(declare-const j Int)
(assert (and (<= 0 i) (< i m)))
(assert (and (<= 0 j) (< j (+ n 1))))
(define-fun k () Int (+ (* i n) j))
(assert (< 0 n))
(assert (not (and (= (div k n) i) (= (mod k n) j))))
(check-sat)
