"""Found by a campaign: no input with infinities was tried where a buffer is a single number.

numpy makes numbers of arrays without dimensions; the interpreter refused them as arguments, and the search ended.
"""

import numpy as np
import pytest

from verified_tir import parse_func
from verified_tir.cli.execute import random_array
from verified_tir.ir.dtype import DType
from verified_tir.validate import Different, Equal, validate
from verified_tir.validate.concrete import KINDS, contents

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((1,), "float32"), B: T.Buffer((), "float32")):
    x: T.let[T.float32] = A[0]
    B[()] = {0}
"""


def test_infinity_minus_itself() -> None:
    before, after = (parse_func(PROGRAM.format(value)) for value in ("x - x", "T.float32(0)"))
    assert isinstance(validate(before, after).verdict, Different)
    assert isinstance(validate(before, parse_func(PROGRAM.format("A[0] - x"))).verdict, Equal)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "bfloat16", "float64"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_inputs_are_arrays(dtype: str, shape: tuple[int, ...]) -> None:
    for kind in (*KINDS, "constants", "lone"):
        made = contents(DType.parse(dtype), shape, kind, np.random.default_rng(0), (0, 1, 5.5))
        assert isinstance(made, np.ndarray) and made.shape == shape and made.dtype.name == dtype
    drawn = random_array(np.random.default_rng(0), DType.parse(dtype), shape)
    assert isinstance(drawn, np.ndarray) and drawn.shape == shape and drawn.dtype.name == dtype
