"""The table of interned nodes: it forgets at once what nobody holds; equal nodes are one, however they are made."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from verified_tir.ir import node as node_module
from verified_tir.ir.exact import Inexact
from verified_tir.ir.expr import Binary, Load, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError, Node
from verified_tir.ir.script import parse_func
from verified_tir.ir.stmt import SKIP, For, Store
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import children, free_vars, nodes_of, walk


@pytest.fixture
def uncollected() -> Iterator[None]:
    """No cycles are looked for: what goes, goes since nobody refers to it."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.nightly
@pytest.mark.usefixtures("uncollected")
def test_what_nodes_remember_does_not_keep_them_alive() -> None:
    x = Var.fresh("x")
    before = len(node_module._TABLE)
    e = (x + 12345) * x
    assert children(e) and free_vars(e) == (x,) == free_vars(x) and len(list(walk(e))) == 4
    assert len(node_module._TABLE) == before + 3
    del e
    assert len(node_module._TABLE) == before


PROGRAM = """
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), n: T.int32):
    for i in T.parallel(8):
        with T.sblock("b"):
            if i + 1 < n and A[i] > 0.0:
                B[i] = T.max(A[i], -0.0) + T.Cast("float32", i)
"""


def test_a_node_of_other_fields_is_what_its_class_makes_of_them() -> None:
    for n in walk(parse_func(PROGRAM)):
        for name in n.__match_args__:
            assert n.changed(name, getattr(n, name)) is n
    func = parse_func(PROGRAM)
    other = func.changed("body", SKIP)
    assert other is PrimFunc(func.name, func.params, func.buffer_map, SKIP, func.attrs, func.ret_type)
    assert other.changed("body", func.body) is func and other.buffers == func.buffers
    (sum_,) = [n for n in nodes_of(func, Binary) if n.op == "add" and n.dtype.is_float]
    assert sum_.changed("op", "sub") is Binary("sub", sum_.a, sum_.b)


def test_a_node_of_other_fields_is_checked() -> None:
    func = parse_func(PROGRAM)
    (loop,), (store,) = nodes_of(func, For), nodes_of(func, Store)
    for node, name, value in [
        (loop, "kind", "threads"), (loop, "body", "pass"), (loop, "extent", 8), (func, "body", None),
        (func, "params", [*func.params]),
    ]:  # fmt: skip
        with pytest.raises(Inexact):
            node.changed(name, value)
    with pytest.raises(IRError):
        store.changed("value", const(1))
    with pytest.raises(KeyError):
        func.changed("_known", {})


def test_an_object_that_its_class_has_not_made_gives_no_node() -> None:
    forged: Node = object.__new__(Load)
    with pytest.raises(AttributeError):
        forged.changed("indices", ())
