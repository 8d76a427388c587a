"""Index maps with operations on bits: what they are in arithmetic, and that numbers stay within their types."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.nightly import few
from verified_tir.index.bits import has_bit_operations, without_bit_operations
from verified_tir.index.box import Box, holds
from verified_tir.index.evaluate import evaluate, open_grid
from verified_tir.index.map import IndexMap, NegativeIndex, NotInjective, UnknownBounds
from verified_tir.index.text import index_text
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


@pytest.mark.nightly
@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", [INT32, INT64], ids=str)
@pytest.mark.parametrize("text", NEVER_NEGATIVE)
def test_no_index_is_called_negative_that_is_none(text: str, dtype: DType) -> None:
    n, i = Var.fresh("n", DType.parse(dtype)), Var.fresh("i", DType.parse(dtype))
    output = NEVER_NEGATIVE[text](i)
    for extent in (n + 1, n * 2, n)[: few(1, 3)]:
        assert not isinstance(holds(Box((i,), (extent,)), output >= 0), Refuted)
        try:
            (bound,) = IndexMap((i,), (output,)).padded_shape([extent])
        except UnknownBounds:
            continue
        for size in (1, 2, 5, 8, 13):
            (values,) = evaluate([output], {i: open_grid([int(evaluate([extent], {n: size})[0])])[0]})
            assert values.max() < evaluate([bound], {n: size})[0]


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


# -- in arithmetic -----------------------------------------------------------------------------------------------------

I, J, N = (Var.fresh(name, INT32) for name in "ijn")
RANGES: dict[Var, tuple[Expr, Expr]] = {I: (const(0), const(13)), J: (const(0), const(8))}


@pytest.mark.parametrize(
    ("bits", "arithmetic"),
    [
        (I << 2, "i * 4"),
        (I >> 2, "i // 4"),
        (I & 7, "i % 8"),
        (I & 6, "i // 2 % 4 * 2"),
        ((I & 8) | (J & 7), "j + i // 8 * 8"),
        (J ^ 1, "1 - j % 2 + j // 2 * 2"),
        (J ^ J, "0"),
        (J & (J << 3), "0"),
        ((I & 1) ^ (J & 1), "(i % 2 + j % 2) % 2"),
        ((I & 1) & (J & 1), "(i % 2 + j % 2) // 2"),
        ((I & 1) | (J & 1), "(i % 2 + j % 2 + 1) // 2"),
        (N ^ 1, "n // 2 * 2 + (1 - n % 2)"),
    ],
)
def test_bits_are_quotients_and_remainders(bits: Expr, arithmetic: str) -> None:
    (found,) = without_bit_operations([bits], RANGES)
    assert index_text(found) == arithmetic


@pytest.mark.parametrize("bits", [N ^ J ^ N, N & (I - 5), I >> J, 1 << I], ids=index_text)
def test_what_has_no_bounds_stays_as_it_is(bits: Expr) -> None:
    assert without_bit_operations([bits], RANGES) == (bits,)


def bit_expressions() -> st.SearchStrategy[Expr]:
    leaf = st.one_of(st.sampled_from([I, J, I + J, I * 3]), st.integers(0, 15).map(const))
    return st.recursive(
        leaf,
        lambda of: st.one_of(
            st.builds(op, st.sampled_from(["bitand", "bitor", "bitxor", "add"]), of, of),
            st.builds(op, st.sampled_from(["shl", "shr"]), of, st.integers(0, 3)),
            st.builds(lambda e, k: e // k, of, st.integers(1, 5)),
        ),
        max_leaves=5,
    )


@given(bit_expressions())
def test_the_values_are_the_same(bits: Expr) -> None:
    (found,) = without_bit_operations([bits], RANGES)
    assert not has_bit_operations(found)
    points = dict(zip((I, J), open_grid((13, 8)), strict=True))
    before, after = (np.broadcast_to(v, (13, 8)) for v in evaluate([bits, found], points))
    np.testing.assert_array_equal(before, after)


def test_swizzles_and_morton_orders_have_inverses() -> None:
    swizzle = IndexMap.from_func(lambda i, j: [i, (j >> 3) ^ (i & 7), j & 7], 2)
    array = np.arange(64 * 64).reshape(64, 64)
    packed = swizzle.pack(array)
    assert packed.shape == (64, 8, 8)
    assert packed[5, 3 ^ 5, 2] == array[5, 3 * 8 + 2]
    np.testing.assert_array_equal(swizzle.unpack(packed, (64, 64)), array)
    morton = IndexMap.from_func(
        lambda i, j: [(i & 1) << 1 | j & 1 | (i & 2) << 2 | (j & 2) << 1 | (i & 4) << 3 | (j & 4) << 2], 2
    )
    assert morton.constant_shape((8, 8)) == (64,)
    assert index_text(morton.padding_predicate((8, 8))[1]) == "False"
    with pytest.raises(NotInjective):
        IndexMap.from_func(lambda i, j: [i & 6, i ^ j], 2).inverse((8, 8))
