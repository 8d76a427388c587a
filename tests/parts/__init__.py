"""Assertions about the parts of this compiler, and what they are tried on (docs/contributing/test-parts.md).

roundtrip, trees, syntax        text: what is printed reads back; programs for that
compiled, lowered               machine code and passes, against the interpreter
index_values, simplified, formulas      simplifiers and solvers, against all small values
verdicts, llvm_verdicts, second_opinions, near_misses      the validator
reference_runs, literals, mismatch      what these need
"""
