"""Small programs for the tests of the interpreter, built node by node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Expr, Load, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import For, ForKind, Stmt, Store
from verified_tir.ir.sugar import const
from verified_tir.semantics.interpreter import Outcome


def function(params: Sequence[Buffer | Var], body: Stmt, name: str = "f") -> PrimFunc:
    """A function of these buffers and scalars, in order."""
    handles: list[Var] = []
    buffer_map: list[tuple[Var, Buffer]] = []
    for p in params:
        if isinstance(p, Var):
            handles.append(p)
        else:
            handle = Var.fresh(f"{p.name}_handle", DType.parse("handle"))
            handles.append(handle)
            buffer_map.append((handle, p))
    return PrimFunc(name, tuple(handles), tuple(buffer_map), body)


def loop(var: Var, extent: Expr | int, body: Stmt, kind: ForKind = "serial", start: Expr | int = 0) -> For:
    """``for var in [start, start + extent)``."""
    thread = "threadIdx.x" if kind == "thread_binding" else ""
    return For(var, const(start, var.dtype), const(extent, var.dtype), body, kind, thread)


def store(buffer: Buffer, value: Expr | float, *indices: Expr | int) -> Store:
    """``buffer[indices] = value``, Python numbers allowed."""
    where = tuple(const(i) for i in indices)
    lanes = where[-1].dtype.lanes if where else 1
    return Store(buffer, const(value, buffer.dtype.with_lanes(buffer.dtype.lanes * lanes)), where)


def load(buffer: Buffer, *indices: Expr | int) -> Load:
    """``buffer[indices]``, Python numbers allowed."""
    return Load(buffer, tuple(const(i) for i in indices))


def arrays_of(outcome: Outcome, name: str) -> list[Any]:
    """An array of the outcome as a list, with ``None`` for undefined elements."""
    flat = zip(outcome.arrays[name].reshape(-1).tolist(), outcome.defined[name].reshape(-1), strict=True)
    return [value if known else None for value, known in flat]
