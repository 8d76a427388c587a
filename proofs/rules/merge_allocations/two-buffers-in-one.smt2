; Two buffers of 8 elements in one of 16, at i and 8 + i: no element of one lies on an element of
; the other.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_LIA)
(declare-const k Int)
(declare-const i Int)
(declare-const k2 Int)
(declare-const i2 Int)
(assert (and (<= 0 k) (< k 2)))
(assert (and (<= 0 i) (< i 8)))
(assert (and (<= 0 k2) (< k2 2)))
(assert (and (<= 0 i2) (< i2 8)))
; both lie at one place
(assert (= (ite (= k 0) i (+ 8 i)) (ite (= k2 0) i2 (+ 8 i2))))
(assert (or (distinct k k2) (distinct i i2)))
(check-sat)
