(set-logic QF_LIA)
(assert false)
(check-sat)
