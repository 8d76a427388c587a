; Equality is identity of values: one NaN, two zeros. A store of -0.0 over 0.0 changes the bits.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic ALL)
; B@0 is the memory after the first loop, where B[y] = first for y in [0, 8); the second loop stores second
(define-sort F () (_ FloatingPoint 8 24))
(declare-fun B ((_ BitVec 8)) F)
(declare-const i (_ BitVec 8))
(assert (bvult i #x08))
(assert (=> (bvult i #x08) (= (B i) (_ +zero 8 24))))
(assert (not (= (_ -zero 8 24) (B i))))
(check-sat)
