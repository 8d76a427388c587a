; With one vector more the predicate jo = ceil(n / 4) - 1 and ji >= n mod 4 is wrong when 4
; divides n.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
(declare-const n Int)
(assert (and (<= 0 n) (<= n 2147418112)))
(declare-const jo Int)
(declare-const ji Int)
(assert (and (<= 0 jo) (< jo (div (+ n 3) 4))))
(assert (and (<= 0 ji) (< ji 4)))
(define-fun j () Int (+ (* 4 jo) ji))
(assert (distinct (and (= jo (- (div (+ n 3) 4) 1)) (>= ji (mod n 4))) (not (and (<= 0 j) (< j n)))))
(check-sat)
