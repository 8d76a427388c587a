"""The search for witnesses: on which inputs, and how many."""

import numpy as np
import pytest

from verified_tir import parse_func
from verified_tir.ir.dtype import DType
from verified_tir.validate import Different, Equal, Unknown, concrete, validate
from verified_tir.validate.interface import Side

TEXT = """\
@T.prim_func
def f(A: T.Buffer((64,), "{0}"), B: T.Buffer((64,), "{0}")):
    for i in range(64):
        B[i] = {1}
"""


def func(value: str, dtype: str = "int32"):
    return parse_func(TEXT.format(dtype, value))


def side(program) -> Side:
    return Side.of(program, {})


@pytest.mark.parametrize(
    ("before", "after", "dtype"),
    [
        ("T.Select(A[i] < 1000, A[i], 0)", "T.Select(A[i] <= 1000, A[i], 0)", "int32"),
        ("T.Select(A[i] == -77777, 1, 0)", "0", "int32"),
        ("T.Select(A[i] < T.uint8(200), A[i], T.uint8(0))", "A[i]", "uint8"),
        ("T.Select(A[i] == T.float32(0.37), A[i], T.float32(1))", "T.float32(1)", "float32"),
        ("A[i]", "A[i] + T.float32(0)", "float32"),  # -0.0
        ("T.Select(A[i] == A[i], T.float32(1), T.float32(2))", "T.float32(1)", "float32"),  # NaN
        ("A[i] // -1 * 0 + A[i]", "A[i] * -1 * -1", "int32"),
    ],
)
def test_witnesses_at_constants_and_special_values(before, after, dtype):
    found = validate(func(before, dtype), func(after, dtype)).verdict
    if "// -1" in before:
        assert isinstance(found, Equal | Unknown)  # the one input that differs is undefined before
    else:
        assert isinstance(found, Different), found


def test_contents_of_every_kind_fit_their_type():
    rng = np.random.default_rng(0)
    for name in ("int8", "uint64", "int64", "bool", "float16", "bfloat16", "float64"):
        for kind in (*concrete.KINDS, "constants"):
            found = concrete.contents(DType.parse(name), (3, 2), kind, rng, (0.5, 300, 2**63, -1))
            assert found.shape == (3, 2) and found.dtype.itemsize * 8 >= DType.parse(name).bits


def test_few_inputs_where_arrays_are_large(monkeypatch):
    """Filling and comparing arrays takes time too."""
    one = side(func("A[i] * 2"))
    many = concrete.search(one, side(func("A[i] + A[i]")), steps=1_000_000).tried
    monkeypatch.setattr(concrete, "_MOST_SCALARS", 256)
    few = concrete.search(one, side(func("A[i] + A[i]")), steps=1_000_000).tried
    assert few == 3 < many
    monkeypatch.setattr(concrete, "_MOST_SCALARS", 1)
    assert concrete.search(one, side(func("A[i] + 1")), steps=1_000_000).witness is not None
