; max(a, b) is select(a > b, a, b).  Where there is neither NaN nor -0.0 it may be taken in groups.
;
; The lemma holds if this is unsatisfiable.
(set-info :status unsat)
(set-logic QF_FP)
(define-sort F () (_ FloatingPoint 8 24))
(define-fun larger ((a F) (b F)) F (ite (fp.gt a b) a b))
(define-fun plain ((a F)) Bool (and (not (fp.isNaN a)) (not (= a (_ -zero 8 24)))))
(declare-const a F)
(declare-const b F)
(declare-const c F)
(assert (and (plain a) (plain b) (plain c)))
(assert (not (= (larger (larger a b) c) (larger a (larger b c)))))
(check-sat)
