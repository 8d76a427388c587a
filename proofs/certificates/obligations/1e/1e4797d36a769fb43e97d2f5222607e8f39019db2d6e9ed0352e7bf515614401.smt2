(set-logic QF_LIA)
(assert true)
(assert false)
(check-sat)
