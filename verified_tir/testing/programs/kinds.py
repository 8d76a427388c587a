"""Kinds of loops, mostly where they do no harm: parallel, vectorized, unrolled, bound to threads."""

from __future__ import annotations

from verified_tir.ir.expr import Expr, IntImm, Load, Var
from verified_tir.ir.find import reads_of, writes_of
from verified_tir.ir.stmt import For, ForKind, Stmt, Store
from verified_tir.ir.visit import walk
from verified_tir.testing.programs.sketch import Place, Sketch


def kind_of(s: Sketch, place: Place, var: Var, extent: Expr, body: Stmt) -> tuple[ForKind, str]:
    """The kind of a loop, and the thread it is bound to."""
    if not s.has("loop_kinds") or not s.pick.rarely(3):
        return "serial", ""
    nested = [n for n in walk(body) if isinstance(n, For) and n.kind != "serial"]
    wild = s.has("faults") and s.pick.rarely(16)
    if not wild and (nested or not separate(var, body)):
        return ("unrolled", "") if isinstance(extent, IntImm) else ("serial", "")
    options: list[tuple[ForKind, str]] = [("parallel", "")]
    if isinstance(extent, IntImm):
        options.append(("unrolled", ""))
        if isinstance(body, Store) and extent.value > 1:
            options += [("vectorized", "")] * 2
    if place.loops == 0:
        options += [("thread_binding", "blockIdx.x"), ("thread_binding", "threadIdx.x")]
    return s.pick.among(options)


def separate(var: Var, body: Stmt) -> bool:
    """Whether different iterations certainly access different elements of what is written.

    They do if one dimension of every access to a written buffer is indexed by the loop's variable.
    """
    stores = writes_of(body)
    written = {w.buffer.data for w in stores}
    accesses: list[Store | Load] = [*stores, *(r for r in reads_of(body) if r.buffer.data in written)]
    by_block: dict[Var, set[int]] = {}
    for a in accesses:
        here = {k for k, e in enumerate(a.indices) if e is var}
        by_block[a.buffer.data] = by_block.get(a.buffer.data, here) & here
    views = {a.buffer for a in accesses}
    return bool(stores) and len(views) == len(by_block) and all(by_block.values())
