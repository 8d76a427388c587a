"""Calls between functions of a module, spelled out: what the validator executes has none.

A call becomes the callee's body.  Its buffers are views of what is passed, its scalars are bound by lets.  A call that
cannot be spelled out so (recursion, a scalar that is loaded, a buffer passed twice) stays; the validator then says that
it does not follow it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Call, Expr, Var
from verified_tir.ir.find import data_vars, substitute_buffers
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Allocate, Block, DeclBuffer, Evaluate, LetStmt, Stmt
from verified_tir.ir.visit import map_children, refresh_binders, substitute, walk
from verified_tir.semantics.interpreter.extents import symbols_of
from verified_tir.validate.calls import is_data


def spelled_out(functions: Mapping[str, PrimFunc]) -> dict[str, PrimFunc]:
    """The functions of a module, each with its calls of the others replaced by their bodies."""
    return {name: _Caller(functions, func, (name,)).whole() for name, func in functions.items()}


@final
class _Caller:
    """One function whose calls are being replaced; ``inside`` names the functions around it."""

    def __init__(self, functions: Mapping[str, PrimFunc], func: PrimFunc, inside: tuple[str, ...]) -> None:
        self.functions, self.func, self.inside = functions, func, inside
        self.data = data_vars(func.body)

    def whole(self) -> PrimFunc:
        return self.func.with_body(self.stmt(self.func.body, {b.data: b for b in self.func.buffers}))

    def stmt(self, stmt: Stmt, blocks: Mapping[Var, Buffer]) -> Stmt:
        match stmt:
            case Evaluate(value=Call(op=op) as call) if op[:1] == "@":
                return self.called(call, blocks) or stmt
            case Allocate(buffer=b):
                blocks = {**blocks, b.data: b}
            case Block(alloc_buffers=local):
                blocks = {**blocks, **{b.data: b for b in local}}
        return map_children(stmt, lambda n: self.stmt(n, blocks) if isinstance(n, Stmt) else n)

    def called(self, call: Call, blocks: Mapping[Var, Buffer]) -> Stmt | None:
        name = call.op[1:]
        callee = self.functions.get(name)
        if callee is None or name in self.inside or len(call.args) != len(callee.params):
            return None
        if any(isinstance(n, Call) and n.op == "ret" for n in walk(callee.body)):
            return None
        given = dict(zip(callee.params, call.args, strict=True))
        passed = {b: blocks.get(given[p]) for p in callee.params if (b := callee.buffer_of(p))}  # type: ignore[call-overload]
        scalars = {p: e for p, e in given.items() if callee.buffer_of(p) is None}
        pairs = {p: a for p, a in passed.items() if a is not None}
        if len(pairs) < len(passed) or len({a.data for a in pairs.values()}) < len(pairs):
            return None
        if any(p.dtype is not e.dtype or is_data(e, self.data) for p, e in scalars.items()):
            return None
        values = scalars | _symbols(pairs, scalars)
        if any(v not in values for b in pairs for v in symbols_of(b)):
            return None
        inner, _ = refresh_binders(_Caller(self.functions, callee, (*self.inside, name)).whole().body)
        fresh = {v: Var.fresh(v.name, v.type) for v in values}
        views = {p: substitute(p, {**fresh, p.data: a.data}) for p, a in pairs.items()}
        pointers = {p.data: a.data for p, a in pairs.items()}
        made: Stmt = substitute(substitute_buffers(inner, views), {**pointers, **fresh})
        for view in views.values():
            made = DeclBuffer(view, made)
        for v, e in values.items():
            made = LetStmt(fresh[v], e, made)
        return made


def _symbols(pairs: Mapping[Buffer, Buffer], scalars: Mapping[Var, Expr]) -> dict[Var, Expr]:
    """The symbols that stand alone as an extent."""
    found: dict[Var, Expr] = {}
    for p, a in pairs.items():
        if len(p.shape) == len(a.shape):
            for mine, given in zip(p.shape, a.shape, strict=True):
                if isinstance(mine, Var) and mine not in scalars and mine.dtype is given.dtype:
                    found.setdefault(mine, given)
    return found
