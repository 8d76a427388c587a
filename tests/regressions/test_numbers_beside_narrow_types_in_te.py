"""In tensor expressions a Python number had the type of what it meets: ``A[i] * 2`` of int8 wrapped, and ``A[i] * 0.5``
of float16 was rounded, where TVM computes in int32 and float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from verified_tir import build, te
from verified_tir.index.map import IndexMap
from verified_tir.ir.buffer import Buffer
from verified_tir.script import tir as T

TYPES = (
    "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
    "float16", "bfloat16", "float32", "float64",
)  # fmt: skip
EXPRESSIONS = (
    "a[i] * 2", "2 * a[i]", "a[i] + 1", "1 - a[i]", "a[i] // 2", "a[i] % 3", "a[i] >> 1", "1 << a[i]", "a[i] & 1",
    "a[i] ^ 1", "a[i] * 0.5", "a[i] + 0.1", "a[i] / 2.0", "te.if_then_else(a[i] > 3, a[i], 1)", "te.power(a[i], 2.0)",
    "te.if_then_else(a[i] > 3, 0.5, a[i])", "te.floormod(a[i], 3)", "te.floordiv(a[i], 3)", "te.indexdiv(a[i], 2)",
    "te.indexmod(a[i], 2)", "te.truncdiv(a[i], 2)", "te.truncmod(a[i], 2)", "te.div(a[i], 2)", "a[i] > 1", "a[i] * i",
)  # fmt: skip


def made(te_: Any, dtype: str, text: str) -> str:
    """The type of an expression, empty if there is none."""
    a = te_.placeholder((4,), dtype, name="A")
    try:
        return str(te_.compute((4,), lambda i: eval(text, {"a": a, "te": te_, "i": i}), name="B").dtype)
    except Exception:  # of both libraries
        return ""


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_types_are_those_of_tvm(text: str) -> None:
    theirs = pytest.importorskip("tvm.te")
    pairs = {t: (made(te, t, text), made(theirs, t, text)) for t in TYPES}
    assert any(a for a, _ in pairs.values())
    assert not {t: p for t, p in pairs.items() if all(p) and p[0] != p[1]}


def test_a_product_beyond_a_narrow_type() -> None:
    a = te.placeholder((3,), "int8", name="A")
    b = te.compute((3,), lambda i: a[i] * 2, name="B")
    kept = te.compute((3,), lambda i: a[i] * te.const(2, "int8"), name="C")
    x = np.array([100, -100, 7], np.int8)
    found, narrow = np.zeros(3, np.int32), np.zeros(3, np.int8)
    build(te.lower(te.create_schedule([b.op, kept.op]), [a, b, kept]))(x, found, narrow)
    assert found.tolist() == [200, -200, 14] and narrow.tolist() == [-56, 56, 14]


def test_a_factor_that_float16_rounds() -> None:
    a = te.placeholder((2,), "float16", name="A")
    b = te.compute((2,), lambda i: a[i] * 0.1, name="B")
    x, found = np.array([1.0, 3.0], np.float16), np.zeros(2, np.float32)
    build(te.lower(te.create_schedule(b.op), [a, b]))(x, found)
    assert found.tolist() == (x.astype(np.float32) * np.float32(0.1)).tolist()


def test_reducers_keep_the_type() -> None:
    twice = te.comm_reducer(lambda x, y: x + y * 2, lambda t: te.const(0, t))
    for dtype in ("int32", "int8"):
        a, k = te.placeholder((3,), dtype, name="A"), te.reduce_axis((0, 3), "k")
        b = te.compute((1,), lambda i, a=a, k=k: twice(a[k], axis=k), name="B")  # type: ignore[misc]
        if dtype == "int8":
            with pytest.raises(te.TEError, match="makes int32 of int8"):
                te.create_prim_func([a, b])
        else:
            te.create_prim_func([a, b])


def test_elsewhere_a_number_has_the_type_of_what_it_meets() -> None:
    a, given = Buffer.declare("A", (4,), "int8"), te.placeholder((4,), "int8")
    assert te.compute((4,), lambda i: given[i] * 2).dtype == "int32"
    assert str((a[0] * 2).dtype) == str(T.max(a[0], 1).dtype) == "int8"
    assert str(IndexMap.from_func(lambda i: [i // 4, i % 4], 1)) == "lambda i: [i // 4, i % 4]"
