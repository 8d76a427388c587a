"""Sizes: their normal form means what they mean, and what is said of them holds for all values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verified_tir.graph import GraphBuilder, GraphError, TensorType
from verified_tir.graph.sizes import (
    Dim,
    always_apart,
    dim_text,
    divided,
    greater,
    never_negative,
    normal,
    numbers,
    product,
    replaced,
    same,
    shape_text,
    smaller,
    solved,
    symbol,
    symbols_of,
    value,
)
from verified_tir.ir.expr import Expr
from verified_tir.ir.sugar import binary

n, m, k = symbol("n"), symbol("m"), symbol("k")
VALUES = [dict(zip((n, m, k), v, strict=True)) for v in ((0, 0, 0), (1, 0, 3), (2, 7, 1), (5, 5, 5), (3, 1, 0))]

leaves = st.one_of(st.sampled_from([n, m, k]), st.integers(-4, 9))
sizes = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(binary, st.sampled_from(["add", "sub", "mul", "min", "max"]), inner, inner),
        st.builds(binary, st.sampled_from(["floordiv", "floormod"]), inner, st.integers(1, 5)),
    ),
    max_leaves=6,
)


@given(sizes)
def test_the_normal_form_has_the_same_values_and_is_its_own(size: Dim) -> None:
    found = normal(size)
    assert normal(found) == found
    for at in VALUES:
        assert value(found, at) == value(size, at)


@pytest.mark.nightly
@given(sizes, sizes)
def test_what_is_said_of_sizes_holds_for_all_values(a: Dim, b: Dim) -> None:
    for at in VALUES:
        x, y = value(a, at), value(b, at)
        assert not same(a, b) or x == y
        assert not never_negative(normal(a)) or x >= 0
        assert not always_apart(a, b) or x != y
        assert value(smaller(a, b), at) == min(x, y)
        assert value(greater(a, b), at) == max(x, y)
        quotient = divided(a, b)
        assert quotient is None or value(quotient, at) * y == x
        assert value(replaced(normal(a), {n: m, m: n}), at) == value(a, {**at, n: at[m], m: at[n]})


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (n + 1 + n, "n * 2 + 1"),
        ((n + 1) * m - m, "m * n"),
        ((4 * n + 6) // 4, "n + 1"),
        ((4 * n + 2 * m) // 4, "m * 2 // 4 + n"),
        ((n * m) // m, "n"),
        ((4 * n + 3) % 4, "3"),
        (n // 2 * 2, "n // 2 * 2"),
        (greater(n - 1, 0), "max(0, n - 1)"),
        (smaller(n + m, n), "n"),
        (3 - n, "3 - n"),
    ],
)
def test_normal_forms_as_text(size: Dim, text: str) -> None:
    assert dim_text(normal(size)) == text


def test_a_symbol_is_one_for_each_name() -> None:
    assert symbol("n") is n
    assert symbols_of([2 * m, n, m]) == [m, n]
    for name in ("2n", "", "R", "a b", "ß"):
        with pytest.raises(GraphError, match="no name that can be written"):
            symbol(name)


def test_the_normal_form_does_not_depend_on_which_symbol_is_older() -> None:
    older, younger = symbol("zz"), symbol("aa")
    assert dim_text(normal(older * younger + smaller(older, younger) + older)) == "aa * zz + min(aa, zz) + zz"


def test_symbols_are_solved_where_they_stand_alone() -> None:
    assert solved([(2 * n, 6), (n, 3)]) == {n: 3}
    assert solved([(n, m + 1), (n * 2, 2 * m + 2)]) == {n: m + 1}
    assert solved([(n, 3), (n, 4)]) == (n, 4)
    assert solved([(2 * n, 6)]) == (2 * n, 6)
    assert solved([(4, 4)]) == {}
    assert solved([(4, n)]) == (4, n)


def test_what_is_no_size_is_refused() -> None:
    with pytest.raises(GraphError, match="positive numbers only, not by 0"):
        normal(binary("floordiv", n, 0))
    with pytest.raises(GraphError, match="no Binary"):
        normal(binary("lt", n, m))
    wide: Dim = 1
    with pytest.raises(GraphError, match="64 terms at the most"):
        for j in range(9):
            wide = normal(wide * (symbol(f"s{j}") + 1))
    with pytest.raises(GraphError, match=r"the shape \(n, 4\) of x is open, .*; give the size: --shape n=4$"):
        numbers((n, 4), "x")
    with pytest.raises(GraphError, match="divides by 0"):
        value(n // m, VALUES[0])


def test_products_and_texts() -> None:
    assert product([n, 2, m]) == normal(2 * n * m)
    assert product([n, 0]) == 0
    assert shape_text((n,)) == "(n,)"
    assert isinstance(normal(2 * n), Expr)


def test_types_of_open_shapes() -> None:
    t = TensorType((n, n + 1), "float32")
    assert str(t) == 'R.Tensor((n, n + 1), "float32")'
    assert t.is_open
    assert t == TensorType((n, 1 + n), "float32")
    assert t.at({n: 2}).shape == (2, 3)
    with pytest.raises(GraphError, match="is open, and must be numbers here"):
        t.shape  # noqa: B018
    with pytest.raises(GraphError, match="not negative, not -1"):
        TensorType((n - 2,), "float32").at({n: 1})


def test_each_symbol_is_the_extent_of_an_input() -> None:
    g = GraphBuilder()
    x = g.input("x", (2 * n,))
    with pytest.raises(GraphError, match="no input has the extent n itself"):
        g.finish(x)
    g = GraphBuilder()
    y = g.op("broadcast_to", g.input("x", (m, 1)), shape=(m, n))
    with pytest.raises(GraphError, match="no input has the extent n"):
        g.finish(y)
