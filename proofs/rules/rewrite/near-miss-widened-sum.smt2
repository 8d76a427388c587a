; Equality is identity of values: one NaN, two zeros. A chain of float16 sums computed in float32
; and rounded once at its end is not the float16 sum.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_FP)
(define-sort H () (_ FloatingPoint 5 11))
(define-sort S () (_ FloatingPoint 8 24))
(declare-const a H)
(declare-const b H)
(declare-const c H)
(define-fun wide ((x H)) S ((_ to_fp 8 24) RNE x))
(assert (not (= (fp.add RNE (fp.add RNE a b) c)
                ((_ to_fp 5 11) RNE (fp.add RNE (fp.add RNE (wide a) (wide b)) (wide c))))))
(check-sat)
