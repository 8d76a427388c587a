; A store that fills an undefined place may not go: insert and erase are no inverses.
;
; Near miss: satisfiable; the model is the counterexample.
(set-info :status sat)
(set-logic QF_LIA)
; v: the stored value and whether it is defined; b: what stands in the element
(declare-const v Int)
(declare-const v_def Bool)
(declare-const b Int)
(declare-const b_def Bool)
(define-fun leq () Bool (=> v_def (and b_def (= v b))))   ; v is at most as defined as b
(assert (not b_def))
(assert (not leq))
(check-sat)
