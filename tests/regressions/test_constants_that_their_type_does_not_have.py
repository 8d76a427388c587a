"""A float constant that its type does not have is the nearest one that it has, for whoever reads it.

The encoding rounded it; the interpreter computed with the number itself (and could not store 1e6 as a float16), machine
code was refused by LLVM, and the validator took 1e6 of float16 for finite.  Found by reading; text has no such
constants, as the parser rounds.
"""

from __future__ import annotations

import numpy as np

from verified_tir import Schedule, build, parse_func
from verified_tir.ir.dtype import FLOAT16, FLOAT32
from verified_tir.ir.expr import FloatImm
from verified_tir.ir.visit import rewrite
from verified_tir.schedule.edits import rewritten
from verified_tir.semantics.interpreter import run
from verified_tir.validate.terms import MAY_INF, Terms

TEXT = """
@T.prim_func
def f(B: T.Buffer((1,), "float64"), H: T.Buffer((1,), "float16")):
    B[0] = T.Cast("float64", T.float32(0.5))
    H[0] = T.float16(0.5)
"""
NUMBERS = {FLOAT32: 0.1, FLOAT16: 1e6}


def test_a_constant_is_the_nearest_number_of_its_type() -> None:
    f = rewrite(parse_func(TEXT), lambda n: FloatImm(n.type, NUMBERS[n.type]) if isinstance(n, FloatImm) else None)
    found = run(f, {"B": np.zeros(1), "H": np.zeros(1, np.float16)}).arrays
    b, h = np.zeros(1), np.zeros(1, np.float16)
    s = Schedule(f)
    build(s)(b, h)
    assert found["B"][0] == b[0] == np.float64(np.float32(0.1)) != 0.1
    assert found["H"][0] == h[0] == np.inf
    s._session.apply(rewritten((1,), (0,), FloatImm(FLOAT16, float("inf"))))  # the bits that proofs know


def test_the_validator_knows_that_it_may_be_infinite() -> None:
    terms = Terms()
    assert terms.flags[terms.constant(FLOAT16, 1e6)] & MAY_INF
    assert not terms.flags[terms.constant(FLOAT16, 1e4)] & MAY_INF
