; B[n i + j] for j in [0, n), n symbolic: two iterations of i write different elements.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_NIA)
; iterations i < i2 of the marked loop; inner loops run over j and j2
(declare-const n Int)
(declare-const j Int)
(declare-const j2 Int)
(declare-const i Int)
(declare-const i2 Int)
(assert (and (<= 0 i) (< i n) (<= 0 i2) (< i2 n) (< i i2)))
(assert (and (<= 0 j) (< j n) (<= 0 j2) (< j2 n)))
(assert (= (+ (* n i) j) (+ (* n i2) j2)))
(check-sat)
