; the 4 x 4 tiles at (r, c) and at (r, c + 4), of which the second need not lie in the row
; It goes on in the next row, where the first tile is.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_NIA)
(declare-const m Int)
(declare-const r Int)
(declare-const c Int)
(declare-const i Int)
(declare-const j Int)
(declare-const k Int)
(declare-const l Int)
(assert (and (<= 0 c) (<= (+ c 4) m (+ c 7)))) ; only the first tile lies in the row
(assert (and (<= 0 i 3) (<= 0 j 3) (<= 0 k 3) (<= 0 l 3)))
(assert (= (+ (* (+ r i) m) c j) (+ (* (+ r k) m) c 4 l)))
(check-sat)
