"""Formulas, verdicts and solvers.  The only layer that imports z3."""
