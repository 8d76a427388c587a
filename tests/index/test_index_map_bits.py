"""Index maps with operations on bits, on boxes of symbolic extents: numbers stay within their types."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.nightly import few
from verified_tir.index.box import Box, holds
from verified_tir.index.map import IndexMap, NegativeIndex, UnknownBounds
from verified_tir.ir.dtype import INT32, INT64, DType
from verified_tir.ir.expr import Binary, Expr, Var
from verified_tir.ir.sugar import const
from verified_tir.logic.verdict import Proved, Refuted


def op(name: str, a: Expr, b: Expr | int) -> Expr:
    return Binary(name, a, const(b, a.dtype) if isinstance(b, int) else b)


NEVER_NEGATIVE: dict[str, Callable[[Expr], Expr]] = {
    "i ^ 1": lambda i: op("bitxor", i, 1),
    "i ^ 3": lambda i: op("bitxor", i, 3),
    "i | 1": lambda i: op("bitor", i, 1),
    "i & 6": lambda i: op("bitand", i, 6),
    "(i ^ 1) // 4": lambda i: op("bitxor", i, 1) // 4,
    "i >> 2": lambda i: op("shr", i, 2),
    "(i & -2) >> 1": lambda i: op("shr", op("bitand", i, -2), 1),
}
NEGATIVE: dict[str, Callable[[Expr], Expr]] = {
    "i ^ -1": lambda i: op("bitxor", i, -1),
    "i | -8": lambda i: op("bitor", i, -8),
    "(i ^ 1) - 1": lambda i: op("bitxor", i, 1) - 1,
    "(i & 6) - 7": lambda i: op("bitand", i, 6) - 7,
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", [INT32, INT64], ids=str)
@pytest.mark.parametrize("text", NEVER_NEGATIVE)
def test_no_index_is_called_negative_that_is_none(text: str, dtype: DType) -> None:
    n, i = Var.fresh("n", DType.parse(dtype)), Var.fresh("i", DType.parse(dtype))
    output = NEVER_NEGATIVE[text](i)
    for extent in (n + 1, n * 2, n)[: few(1, 3)]:
        assert not isinstance(holds(Box((i,), (extent,)), output >= 0), Refuted)
        with pytest.raises(UnknownBounds):
            IndexMap((i,), (output,)).padded_shape([extent])


@pytest.mark.parametrize("text", NEGATIVE)
def test_one_that_is_comes_with_an_index_of_the_type(text: str) -> None:
    n, i = Var.fresh("n", INT32), Var.fresh("i", INT32)
    with pytest.raises(NegativeIndex) as refused:
        IndexMap((i,), (NEGATIVE[text](i),)).padded_shape([n])
    found = refused.value
    assert found.value < 0
    assert 0 <= found.point[0] < found.symbols[n] <= INT32.max_value


def test_the_ends_of_types_count() -> None:
    n, i = Var.fresh("n", INT32), Var.fresh("i", INT32)
    box = Box((i,), (n,))
    assert isinstance(holds(box, op("bitxor", i, 1) >= 0), Proved)
    assert isinstance(holds(box, op("bitxor", i, 1) < n), Refuted)
    assert isinstance(holds(box, op("bitand", i, 1) <= 1), Proved)
