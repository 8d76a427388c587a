"""Statements and functions in few words."""

from __future__ import annotations

from collections.abc import Sequence

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Expr, Load, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import ForKind, Stmt, Store
from verified_tir.ir.sugar import const
from verified_tir.kernel.obligation import NoMatch
from verified_tir.kernel.step import Rule
from verified_tir.schedule import rule_builders


def load(b: Buffer, *indices: Expr | int) -> Load:
    """``b[indices]``, Python numbers allowed."""
    return Load(b, tuple(const(i) for i in indices))


def store(b: Buffer, value: Expr | float, *indices: Expr | int) -> Store:
    """``b[indices] = value``, Python numbers allowed."""
    where = tuple(const(i) for i in indices)
    lanes = where[-1].dtype.lanes if where else 1
    return Store(b, const(value, b.dtype.with_lanes(b.dtype.lanes * lanes)), where)


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


def made(builder: rule_builders.RuleBuilder, func: PrimFunc) -> Rule:
    """The rule that a rule builder makes of a function."""
    rule = builder(func)
    assert not isinstance(rule, NoMatch), rule.reason
    return rule


def of_kind(func: PrimFunc, path: Path, kind: ForKind, thread: str = "") -> Rule:
    """The loop at ``path`` becomes one of this kind."""
    return made(rule_builders.of_kind(path, kind, thread), func)
