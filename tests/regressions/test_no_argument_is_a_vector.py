"""Found by a campaign: the interpreter took a number for a parameter of a vector type, and used one lane of it.

Machine code read the other lanes from somewhere.  The interpreter takes no such argument now; nothing is proved of such
programs, so that nothing is compiled from them.

Finding: codegen | jit-differs | codegen
Finding: codegen | died | SIGSEGV in parts/compiled.py:problem
"""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir import Schedule, ScheduleError, parse_func
from verified_tir.semantics.interpreter import ArgumentError, run

VECTOR = """
@T.prim_func
def main(A: T.Buffer((1,), "float32x2"), x: T.float32x2):
    A[0] = x
"""


@pytest.mark.parametrize("x", [0.0, np.array([1.0, 2.0], np.float32)])
def test_no_argument_is_a_vector(x: object) -> None:
    with pytest.raises(ArgumentError, match=r"x is a vector \(float32x2\), which no argument is"):
        run(parse_func(VECTOR), {"A": np.ones((1, 2), np.float32), "x": x})


def test_no_theorem_is_about_one() -> None:
    with pytest.raises(ScheduleError, match="variable x is not in scope as one number"):
        Schedule(parse_func(VECTOR))
