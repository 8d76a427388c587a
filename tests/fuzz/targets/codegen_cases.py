"""Programs made for the code generator and for passes: expressions of all types, and marks that passes look for."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.calls import PURE_CALLS
from verified_tir.ir.dtype import DType, PointerType
from verified_tir.ir.expr import Binary, Call, Cast, Expr, IntImm, Load, Ramp, Var
from verified_tir.ir.find import substitute_buffers
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.stmt import Allocate, For, If, Stmt, Store, seq
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import rewrite, walk
from verified_tir.semantics.interpreter import UndefinedBehaviour, run
from verified_tir.testing.arrays import array
from verified_tir.testing.drawing import Picker
from verified_tir.testing.dtypes import SCALARS, numbers
from verified_tir.testing.expressions import (
    BIT_OPS,
    COMPARISONS,
    FLOAT_OPS,
    INTEGER_OPS,
    Scope,
    call_operands,
    expressions,
)

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
    variables = tuple(Var.fresh(f"x{k}", DType.parse(t)) for k, t in enumerate(_VARIABLES))
    buffers = tuple(Buffer.declare(f"B{k}", (4,), t) for k, t in enumerate(_ELEMENTS))
    scope = Scope(variables, buffers, tuple(PURE_CALLS), undef=pick.rarely(4))
    found: list[Expr] = []
    for _ in range(pick.one(1, 8, 4, 8)):
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


# ------------------------------------------------------------------------------------------------------- operators

_COUNT = 16


@st.composite
def operator_programs(draw: DrawFn) -> tuple[PrimFunc, tuple[Arguments, ...]]:
    """A few operators, each on sixteen pairs of values, one by one or as vectors; and arguments with a meaning."""
    pick = Picker(draw)
    table = _Table(pick)
    rows = [table.row(k) for k in range(pick.one(1, 2, 6, 6))]
    func = table.function([stmt for stmt, _ in rows])
    given = []
    for _ in range(2):
        row = _row(pick, func)
        given.append({**row, "go": _flags(func, row, len(rows))})
    return func, tuple(given)


def _flags(func: PrimFunc, row: Arguments, count: int) -> npt.NDArray[np.bool_]:
    """Flags of those elements of each row on which the operator has a meaning."""
    flags = np.ones((count, _COUNT), np.bool_)
    if not _means(func, {**row, "go": flags.ravel()}):
        for k in range(count):
            alone = np.zeros((count, _COUNT), np.bool_)
            alone[k] = True
            if not _means(func, {**row, "go": alone.ravel()}):
                for j in range(_COUNT):
                    alone[k] = np.arange(_COUNT) == j
                    flags[k, j] = _means(func, {**row, "go": alone.ravel()})
    return flags.ravel()


class _Table:
    """Draws operators on elements of arrays, two of each type."""

    def __init__(self, pick: Picker) -> None:
        self.pick = pick
        self.operands: dict[tuple[DType, int], Buffer] = {}
        self.results: list[Buffer] = []
        self.flags: Buffer | None = None

    def element(self, dtype: DType, side: int, index: Expr) -> Expr:
        """An element of one of the two arrays of a type."""
        key = (dtype, side)
        if key not in self.operands:
            self.operands[key] = Buffer.declare(f"{'AB'[side]}_{dtype}", (_COUNT,), dtype)
        return Load(self.operands[key], (index,))

    def row(self, number: int) -> tuple[Stmt, Buffer]:
        """One operator on all elements."""
        vector = self.pick.rarely(3)
        i = Var.fresh("i")
        index: Expr = Ramp(const(0), const(1), _COUNT) if vector else i
        value = self.value(index, _COUNT if vector else 1)
        result = Buffer.declare(f"R{number}", (_COUNT,), value.dtype.scalar)
        self.results.append(result)
        place = number * _COUNT + (const(0) if vector else i)
        stored = If(Load(self.go, (place,)), Store(result, value, (index,)))
        return (stored if vector else For(i, const(0), const(_COUNT), stored)), result

    @property
    def go(self) -> Buffer:
        """The flags: sixteen for each row."""
        if self.flags is None:
            self.flags = Buffer.declare("go", (6 * _COUNT,), "bool")
        return self.flags

    def value(self, index: Expr, lanes: int) -> Expr:
        """An operator on the elements at an index."""
        p = self.pick
        kind = p.integer(0, 7)
        dtype = p.among(SCALARS)
        if kind == 0:
            return Cast(p.among(SCALARS).with_lanes(lanes), self.element(dtype, 0, index))
        if kind in (1, 4):
            calls = [(op, t) for op in PURE_CALLS for t in call_operands(op, dtype.with_lanes(lanes))]
            op, operand = p.among(calls)
            sides = (0, 1, 0)[: PURE_CALLS[op].arity]
            return Call(dtype.with_lanes(lanes), op, tuple(self.element(operand.scalar, k, index) for k in sides))
        a = self.element(dtype, 0, index)
        b: Expr = self.element(dtype, 1, index)
        if p.rarely(3):
            small = dtype.is_int and p.flip()  # powers of two have code of their own
            b = const(p.one(2, 4, 8, 3, 7, 64, 1) if small else p.draw(numbers(dtype)), dtype.with_lanes(lanes))
        if dtype.is_bool:
            return Binary(p.among((*BIT_OPS, "eq", "ne", "and", "or") if lanes == 1 else (*BIT_OPS, "eq", "ne")), a, b)
        if kind in (2, 5):
            return Binary(p.among(COMPARISONS), a, b)
        if kind == 3 and dtype.is_float:
            return Binary(p.one("add", "sub"), Binary("mul", a, b), self.element(dtype, p.integer(0, 1), index))
        return Binary(p.among(INTEGER_OPS if dtype.is_int else FLOAT_OPS), a, b)

    def function(self, rows: list[Stmt]) -> PrimFunc:
        """The rows, one after the other."""
        flags = Buffer.declare("go", (len(rows) * _COUNT,), "bool")
        body = substitute_buffers(seq(*rows), {self.go: flags})
        buffers = (flags, *self.operands.values(), *self.results)
        params = [Var.fresh(b.name, PointerType(b.dtype)) for b in buffers]
        return PrimFunc("f", tuple(params), tuple(zip(params, buffers, strict=True)), body)


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
