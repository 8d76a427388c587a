; the 4 x 4 tiles of a row-major n x m matrix at (r, c) and at (r, c + 4), with strides m and 1
; Tiles side by side share no element.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_NIA)
(declare-const m Int)
(declare-const r Int)
(declare-const c Int)
(declare-const i Int)
(declare-const j Int)
(declare-const k Int)
(declare-const l Int)
(assert (and (<= 0 c) (<= (+ c 8) m))) ; both tiles lie in the row
(assert (and (<= 0 i 3) (<= 0 j 3) (<= 0 k 3) (<= 0 l 3)))
(assert (= (+ (* (+ r i) m) c j) (+ (* (+ r k) m) c 4 l))) ; the elements (i, j) and (k, l) of the tiles are one
(check-sat)
