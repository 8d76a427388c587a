"""Nodes: interning, types, typing rules, equality modulo names, traversal, paths."""

from __future__ import annotations

import copy
import gc
import math

import pytest

from tests.structural_hash import structural_hash
from verified_tir.ir import node as node_module
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import BOOL, FLOAT32, INT32, DType, PointerType
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.expr import Binary, Broadcast, Cast, FloatImm, IfThenElse, IntImm, Load, Ramp, Select, Shuffle, Var
from verified_tir.ir.find import block_path, loop_path
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import at, places, put
from verified_tir.ir.script import parse_func
from verified_tir.ir.stmt import SKIP, Block, For, Seq, Store, seq
from verified_tir.ir.sugar import all_of, any_of, const
from verified_tir.ir.visit import bound_vars, free_vars, refresh_binders, substitute, walk


def test_equal_nodes_are_one_object() -> None:
    i = Var.fresh("i")
    assert i + 1 is i + 1
    assert Binary("add", i, const(1)) is i + 1
    assert Var.fresh("i") is not i
    assert copy.deepcopy(i + 1) is i + 1


def test_constants_are_told_apart_by_type_and_bits() -> None:
    zero, negative = const(0.0, "float32"), const(-0.0, "float32")
    assert zero is not negative
    assert isinstance(negative, FloatImm) and math.copysign(1, negative.value) == -1
    assert const(math.nan, "float32") is const(math.nan, "float32")
    assert len({const(0.0, "float32"), const(0.0, "float64"), const(0), const(0, "int64"), const(0, "bool")}) == 5
    assert const(1, "bool") is not const(1)
    assert const(0.1, "float32") is const(float.fromhex("0x1.99999ap-4"), "float32")


@pytest.mark.nightly
def test_nodes_that_nobody_holds_are_collected() -> None:
    gc.collect()
    before = len(node_module._TABLE)
    x = Var.fresh("temporary") + 12345
    assert len(node_module._TABLE) > before
    del x
    gc.collect()
    assert len(node_module._TABLE) <= before + 1


def test_nodes_cannot_be_changed() -> None:
    i = Var.fresh("i")
    with pytest.raises(AttributeError):
        i.name = "j"  # type: ignore[misc]
    with pytest.raises(IRError, match="no truth value"):
        bool(i < 3)


@pytest.mark.parametrize("text", ["int8", "uint64", "float16", "bfloat16", "bool", "float32x4", "boolx8", "handle"])
def test_dtypes_read_and_print(text: str) -> None:
    assert str(DType.parse(text)) == text
    assert DType.parse(text) is DType.parse(text)


@pytest.mark.parametrize("text", ["int7", "float8", "float32x0", "double", "", "int32x"])
def test_what_is_no_dtype(text: str) -> None:
    with pytest.raises(IRError):
        DType.parse(text)


def test_dtype_ranges() -> None:
    assert (DType.parse("int8").min_value, DType.parse("int8").max_value) == (-128, 127)
    assert (DType.parse("uint8").min_value, DType.parse("uint8").max_value) == (0, 255)
    assert DType.parse("float32x4").nbytes == 16
    assert PointerType(FLOAT32) is PointerType(FLOAT32, "global")


def test_ill_typed_expressions_are_errors_at_construction() -> None:
    i, x = Var.fresh("i"), Var.fresh("x", DType.parse("float32"))
    b = Var.fresh("b", DType.parse("bool"))
    wrong = [
        lambda: Binary("add", i, x),
        lambda: Binary("and", i, i),
        lambda: Binary("floordiv", x, x),
        lambda: Binary("div", i, i),
        lambda: Binary("add", b, b),
        lambda: IntImm(DType.parse("int8"), 128),
        lambda: IntImm(BOOL, 2),
        lambda: Select(i, x, x),
        lambda: Select(b, x, i),
        lambda: IfThenElse(Broadcast(b, 4), Broadcast(x, 4), Broadcast(x, 4)),
        lambda: Cast(DType.parse("int32x4"), i),
        lambda: Ramp(x, x, 4),
        lambda: Ramp(i, const(1), 0),
        lambda: Broadcast(Broadcast(i, 2), 2),
        lambda: Shuffle((Broadcast(i, 2),), (2,)),
        lambda: const(300, "int8"),
        lambda: const(1.5, "int32"),
    ]
    for make in wrong:
        with pytest.raises(IRError):
            make()


def test_the_typing_rule_of_accesses() -> None:
    scalars, vectors = Buffer.declare("A", (64,), "float32"), Buffer.declare("V", (16,), "float32x4")
    matrix = Buffer.declare("M", (8, 8), "float32")
    i, ramp = const(0), Ramp(const(0), const(1), 4)
    assert str(Load(scalars, (i,)).dtype) == "float32"
    assert str(Load(vectors, (i,)).dtype) == "float32x4"
    assert str(Load(scalars, (ramp,)).dtype) == "float32x4"
    assert str(Load(vectors, (ramp,)).dtype) == "float32x16"
    assert str(Load(matrix, (i, ramp)).dtype) == "float32x4"
    with pytest.raises(IRError, match="only the last index"):
        Load(matrix, (ramp, i))
    with pytest.raises(IRError, match="2 dimensions"):
        Load(matrix, (i,))
    with pytest.raises(IRError, match="an integer is needed"):
        Load(scalars, (const(0.0, "float32"),))
    with pytest.raises(IRError, match="is stored"):
        Store(scalars, const(0), (i,))


def test_folding_is_limited_to_identities_of_index_arithmetic() -> None:
    i, x = Var.fresh("i"), Var.fresh("x", DType.parse("float32"))
    assert (i + 0, i * 1, i // 1) == (i, i, i)
    assert const(3) + 4 is const(7)
    assert isinstance(const(2**31 - 1) + 1, Binary)
    assert isinstance(x + 0.0, Binary)
    assert isinstance(x * 1.0, Binary)
    assert isinstance(i * 0, Binary)
    assert all_of([]) is const(1, "bool")
    assert any_of([]) is const(0, "bool")


TEXT = """
@T.prim_func
def f(A: T.Buffer(({n}, 4), "float32"), B: T.Buffer((8,), "float32")):
    for {i}, {j} in T.grid({n}, 4):
        with T.block("{b}"):
            A[{i}, {j}] = A[{i}, {j}] + B[{i}]
"""


def text(n: str = "8", i: str = "i", j: str = "j", b: str = "b") -> str:
    return TEXT.format(n=n, i=i, j=j, b=b)


def test_equality_modulo_names() -> None:
    f, g = parse_func(text()), parse_func(text(i="x", j="y"))
    assert f is not g
    assert structural_equal(f, g)
    assert structural_hash(f) == structural_hash(g)
    assert not structural_equal(f, parse_func(text(n="7")))
    assert not structural_equal(f, parse_func(text().replace("B[i]", "B[j]")))
    assert not structural_equal(f, parse_func(text().replace("+", "-")))


def test_equality_needs_a_bijection() -> None:
    i, j = Var.fresh("i"), Var.fresh("j")
    assert structural_equal(i + j, j + i, map_free=True)
    assert not structural_equal(i + j, i + i, map_free=True)
    assert not structural_equal(i + i, i + j, map_free=True)
    assert not structural_equal(i + 1, j + 1)
    assert not structural_equal(const(0.0, "float32"), const(-0.0, "float32"))


def test_equality_tells_bound_variables_from_free_ones_of_any_name_and_number() -> None:
    a = Buffer.declare("A", (4,), "int32")
    i, j = Var.fresh("i"), Var.fresh("j")
    for number in range(4):
        free = Var("", INT32, number)
        loops = [For(v, const(0), const(4), Store(a, e, (const(0),))) for v in (i, j, free) for e in (i, j, free)]
        for k, x in enumerate(loops):
            for m, y in enumerate(loops):
                own = k // 3 == k % 3, m // 3 == m % 3  # whether the loop stores its own variable
                assert structural_equal(x, y) is (own == (True, True) or (not any(own) and k % 3 == m % 3))


def test_equality_of_deep_shared_trees_takes_no_time() -> None:
    a, b = Var.fresh("a"), Var.fresh("b")
    x, y = a + 1, b + 1
    for _ in range(200):
        x, y = x * x, y * y
    assert structural_equal(x, y, map_free=True)
    assert structural_hash(x) == structural_hash(y)


def test_free_and_bound_variables() -> None:
    f = parse_func(text())
    names = [v.name for v in bound_vars(f.body)]
    assert names == ["i", "j"]
    assert {v.name for v in free_vars(f.body)} == {"A", "B"}
    copied, mapping = refresh_binders(f.body)
    assert structural_equal(copied, f.body)
    assert not set(bound_vars(copied)) & set(bound_vars(f.body))
    assert len(mapping) == 2


def test_substitution_keeps_untouched_subtrees() -> None:
    i, j = Var.fresh("i"), Var.fresh("j")
    left, right = i * 4, j * 5
    replaced = substitute(left + right, {i: const(2)})
    assert isinstance(replaced, Binary)
    assert replaced.b is right
    assert substitute(left, {j: const(1)}) is left


def test_paths() -> None:
    f = parse_func(text())
    path = block_path(f, "b")
    assert path == (0, 0)
    block = at(f.body, path)
    assert isinstance(block, Block)
    inner = at(f.body, (0,))
    assert isinstance(inner, For)
    assert loop_path(f, inner.var) == (0,)
    assert loop_path(f, Var.fresh("k")) is None
    assert [p for p, _ in places(f.body, lambda s: isinstance(s, Store))] == [(0, 0, 0)]
    with pytest.raises(IRError, match="no statement"):
        at(f.body, (1,))


def test_put_keeps_what_it_does_not_touch_and_flattens_sequences() -> None:
    a = Buffer.declare("A", (4,), "int32")
    s = [Store(a, const(k), (const(k),)) for k in range(3)]
    body = seq(*s)
    changed = put(body, (1,), seq(s[2], s[0]))
    assert isinstance(changed, Seq)
    assert changed.stmts == (s[0], s[2], s[0], s[2])
    assert put(body, (1,), SKIP) is seq(s[0], s[2])
    assert seq(s[0]) is s[0]
    assert seq() is SKIP
    assert [n for n in walk(changed) if isinstance(n, Store)] == [s[0], s[2]]


def test_int32_is_the_default_index_type() -> None:
    assert Var.fresh("i").dtype is INT32
