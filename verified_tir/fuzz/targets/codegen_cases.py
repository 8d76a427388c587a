"""Programs made for the code generator and for passes: expressions of all types, and marks that passes look for."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.calls import PURE_CALLS
from verified_tir.ir.dtype import PointerType
from verified_tir.ir.expr import Expr, IntImm, Load, Var, const
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.stmt import Allocate, For, If, Store, seq
from verified_tir.ir.visit import rewrite, walk
from verified_tir.semantics.interpreter import UndefinedBehaviour, run
from verified_tir.testing.arrays import array
from verified_tir.testing.drawing import Picker
from verified_tir.testing.dtypes import SCALARS, numbers
from verified_tir.testing.expressions import Scope, expressions

Arguments = dict[str, Any]

_VARIABLES = ("int32", "int32", "int64", "int8", "uint8", "uint32", "uint64", "bool", "float32", "bfloat16", "float16",
              "float64")  # fmt: skip
_ELEMENTS = (*map(str, SCALARS), "float32x2", "int8x3", "boolx2", "float16x4", "uint16x8")
_LANES = (1, 1, 1, 1, 2, 3, 4, 8, 16)
_ROWS = 6


@st.composite
def expression_programs(draw: DrawFn) -> tuple[PrimFunc, tuple[Arguments, ...]]:
    """A program that stores some expressions, each if its flag is set; and arguments whose flags are such that the
    program has a meaning."""
    pick = Picker(draw)
    variables = tuple(Var.fresh(f"x{k}", t) for k, t in enumerate(_VARIABLES))
    buffers = tuple(Buffer.declare(f"B{k}", (4,), t) for k, t in enumerate(_ELEMENTS))
    scope = Scope(variables, buffers, tuple(PURE_CALLS), undef=pick.rarely(4))
    found: list[Expr] = []
    for _ in range(pick.one(1, 2, 4, 8)):
        dtype = pick.among(SCALARS).with_lanes(pick.among(_LANES))
        found.append(draw(expressions(dtype, scope, depth=pick.integer(1, 4))))
    used = {n for e in found for n in walk(e)}
    variables = tuple(v for v in variables if v in used)
    buffers = tuple(b for b in buffers if any(isinstance(n, Load) and n.buffer is b for n in used))
    func = _stored(found, variables, buffers)
    rows = [_row(pick, func) for _ in range(_ROWS)]
    return func, tuple(_with_flags(func, row, len(found)) for row in rows)


def _stored(exprs: list[Expr], variables: tuple[Var, ...], buffers: tuple[Buffer, ...]) -> PrimFunc:
    flags = Buffer.declare("go", (len(exprs),), "bool")
    results = [Buffer.declare(f"R{k}", (1,), e.dtype) for k, e in enumerate(exprs)]
    body = seq(
        *[
            If(Load(flags, (const(k),)), Store(r, e, (const(0),)))
            for k, (r, e) in enumerate(zip(results, exprs, strict=True))
        ]
    )
    every = (flags, *buffers, *results)
    params = [Var.fresh(b.name, PointerType(b.dtype)) for b in every]
    return PrimFunc("f", (*params, *variables), tuple(zip(params, every, strict=True)), body)


def _row(pick: Picker, func: PrimFunc) -> Arguments:
    found: Arguments = {}
    for p in func.params:
        b = func.buffer_of(p)
        if b is not None:
            shape = tuple(e.value for e in b.shape if isinstance(e, IntImm))
            found[b.name] = array(pick, b.dtype, shape if b.dtype.lanes == 1 else (*shape, b.dtype.lanes))
        else:
            found[p.name] = pick.draw(numbers(p.dtype))
    return found


def _with_flags(func: PrimFunc, row: Arguments, count: int) -> Arguments:
    """The row with the flags of those expressions that have a meaning."""
    every = {**row, "go": np.ones(count, np.bool_)}
    if _means(func, every):
        return every
    flags = [_means(func, {**row, "go": np.arange(count) == k}) for k in range(count)]
    return {**row, "go": np.array(flags, np.bool_)}


def _means(func: PrimFunc, row: Arguments) -> bool:
    try:
        run(func, row)
    except UndefinedBehaviour:
        return False
    return True


# ----------------------------------------------------------------------------------------------------------- marks

_MAPS = {
    1: ("lambda i: [i // 4, i % 4]", "lambda i: [i // 2, i % 2]", "lambda i: [i + 1]", "lambda i: [7 - i]"),
    2: ("lambda i, j: [j, i]", "lambda i, j: [i, j // 4, j % 4]", "lambda i, j: [i * 4 + j]",
        "lambda i, j: [i, AXIS_SEPARATOR, j]"),
    3: ("lambda i, j, k: [k, i, j]", "lambda i, j, k: [i, j * 3 + k]"),
}  # fmt: skip


def marked(pick: Picker, func: PrimFunc) -> PrimFunc:
    """The program with marks that passes look for, now and then: layouts, double buffers, reductions of threads."""

    def visit(node: Node) -> Node | None:
        match node:
            case Allocate(buffer=b, body=body, annotations=()) if pick.rarely(3):
                return Allocate(b, rewrite(body, visit), (("double_buffer_scope", 1),))
            case For(kind="serial", annotations=()) as loop if pick.rarely(8):
                notes = (("thread_allreduce", pick.one(2, 4)),)
                return For(loop.var, loop.min, loop.extent, rewrite(loop.body, visit), "serial", "", notes)
        return None

    body = rewrite(func.body, visit)
    attrs = func.attrs
    local = [n.buffer for n in walk(body) if isinstance(n, Allocate)]
    choices = [b for b in (*func.buffers, *local) if len(b.shape) in _MAPS]
    if choices and not attrs and pick.rarely(3):
        chosen = pick.among(choices)
        layout = (chosen.name, pick.among(_MAPS[len(chosen.shape)]))
        attrs = (("layout_transform_map", (layout,)),)
    return PrimFunc(func.name, func.params, func.buffer_map, body, attrs, func.ret_type)
