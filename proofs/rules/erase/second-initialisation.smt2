; Equality is identity of values: one NaN, two zeros. A second store of 0.0 to an element that
; holds 0.0 may go.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic ALL)
; B@0 is the memory after the first loop, where B[y] = first for y in [0, 8); the second loop stores second
(define-sort F () (_ FloatingPoint 8 24))
(declare-fun B ((_ BitVec 8)) F)
(declare-const i (_ BitVec 8))
(assert (bvult i #x08))
(assert (=> (bvult i #x08) (= (B i) (_ +zero 8 24))))
(assert (not (= (_ +zero 8 24) (B i))))
(check-sat)
