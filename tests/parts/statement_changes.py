"""Changes of one statement: what schedules get wrong, and what they do (:mod:`near_misses`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Binary, Cast, Expr, IntImm, Load, Not, Undef, Var
from verified_tir.ir.node import IRError
from verified_tir.ir.stmt import (
    Allocate,
    Assert,
    Assume,
    AttrStmt,
    Block,
    For,
    If,
    LetStmt,
    Seq,
    Stmt,
    Store,
    While,
    seq,
)  # fmt: skip
from verified_tir.ir.sugar import binary, const
from verified_tir.ir.visit import rewrite, substitute, walk

Makes: TypeAlias = tuple[str, Callable[[], Stmt]]


def statement_changes(s: Stmt) -> Iterator[Makes]:
    """Changes of a statement."""
    match s:
        case Store():
            yield from _of_store(s)
        case For():
            yield from _of_loop(s)
        case If(condition=c, then_body=a, else_body=other):
            yield "a guard dropped", lambda: a
            yield "a guard negated", lambda: If(Not(c), a, other)
            yield "a guard negated, arms exchanged", lambda: If(Not(c), other or seq(), a)
            yield "a guard twice", lambda: If(c, If(c, a), other)
            if other is not None:
                yield "an arm dropped", lambda: If(c, a)
                yield "arms exchanged", lambda: If(c, other, a)
                yield "a branch as two", lambda: seq(If(c, a), If(Not(c), other))
        case Seq(stmts=stmts):
            yield from _of_sequence(stmts)
        case LetStmt(var=v, value=value, body=body):
            yield "a let inlined", lambda: substitute(body, {v: value})
        case Allocate(buffer=b, body=body):
            yield from _of_allocation(s, b, body)
        case Block():
            yield from _of_block(s)
        case Assume():
            yield "an assumption dropped", seq
        case Assert():
            yield "an assertion dropped", seq
        case While(condition=c, body=body):
            yield "a while as an if", lambda: If(c, body)
        case AttrStmt(body=body):
            yield "an attribute dropped", lambda: body
        case _:
            pass


def _of_store(s: Store) -> Iterator[Makes]:
    b, value, indices = s.buffer, s.value, s.indices
    yield "a store dropped", seq
    yield "a store twice", lambda: seq(s, s)
    yield "a store of undef", lambda: Store(b, Undef(value.dtype), indices, s.predicate)
    if s.predicate is not None:
        yield "a mask dropped", lambda: Store(b, value, indices)
    if len(indices) > 1:
        yield "indices exchanged", lambda: Store(b, value, tuple(reversed(indices)), s.predicate)
    old = [n for n in _operands(value) if isinstance(n, Load) and n.buffer is b and n.indices == indices]
    if old:
        rest = [n for n in _operands(value) if n is not old[0]]
        if rest:
            yield "an update made a store", lambda: Store(b, rest[0], indices, s.predicate)
    else:
        yield (
            "a store made an update",
            lambda: Store(b, Binary("add", Load(b, indices, s.predicate), value), indices, s.predicate),
        )


def _operands(e: Expr) -> list[Expr]:
    return [e.a, e.b] if isinstance(e, Binary) else [e]


def _of_loop(s: For) -> Iterator[Makes]:
    v, low, extent, body, t = s.var, s.min, s.extent, s.body, s.extent.dtype
    for by in (1, -1):
        yield "an extent off by one", lambda by=by: replace_loop(s, extent=binary("add", extent, by))  # type: ignore[misc]
    yield "a start off by one", lambda: replace_loop(s, min=binary("add", low, 1))
    yield "no iteration", lambda: replace_loop(s, extent=const(0, t))
    last = binary("sub", binary("add", binary("add", low, low), extent), 1)
    yield "a loop reversed", lambda: replace_loop(s, body=substitute(body, {v: Binary("sub", last, v)}))
    if any(_sums_over(n, v) for n in walk(body)):
        yield "a sum in another order", lambda: replace_loop(s, body=substitute(body, {v: Binary("sub", last, v)}))
    first = substitute(body, {v: low})
    rest = replace_loop(s, min=binary("add", low, 1), extent=binary("sub", extent, 1))
    yield "the first iteration peeled", lambda: seq(If(Binary("gt", extent, const(0, t)), first), rest)
    yield "the first iteration twice", lambda: seq(first, s)
    yield "the first iteration alone", lambda: first
    for kind in ("parallel", "vectorized", "unrolled"):
        if s.kind == "serial":
            yield "another kind of loop", lambda kind=kind: replace_loop(s, kind=kind)  # type: ignore[misc]
    if s.kind != "serial":
        yield "a serial loop", lambda: replace_loop(s, kind="serial", thread="")
    for rounded in (True, False):
        yield "a loop split", lambda rounded=rounded: _split(s, guarded=rounded)  # type: ignore[misc]
    match body:
        case For(var=w, min=lo, extent=n, body=inner, kind=kind, thread=thread):
            yield "loops exchanged", lambda: For(w, lo, n, For(v, low, extent, inner, s.kind, s.thread), kind, thread)
        case If(condition=c, then_body=a, else_body=None):
            yield "a guard hoisted", lambda: If(c, replace_loop(s, body=a))
        case Seq(stmts=stmts) if stmts:
            other = Var.fresh(v.name, v.type)
            tail = substitute(seq(*stmts[1:]), {v: other})
            yield (
                "a loop distributed",
                lambda: seq(replace_loop(s, body=stmts[0]), For(other, low, extent, tail, s.kind, s.thread)),
            )
        case _:
            pass


def _sums_over(n: object, v: Var) -> bool:
    """Whether a statement updates one element in each iteration."""
    match n:
        case Store(buffer=b, value=Binary(op="add" | "mul", a=a, b=c), indices=indices) if b.dtype.is_float:
            return any(isinstance(x, Load) and x.buffer is b for x in (a, c)) and not any(v in walk(i) for i in indices)
        case _:
            return False


def _split(s: For, *, guarded: bool) -> Stmt:
    """Two loops for one, the inner one of two iterations; without a guard the last may be one too many."""
    t = s.extent.dtype
    outer, inner = Var.fresh(f"{s.var.name}_0", s.var.type), Var.fresh(f"{s.var.name}_1", s.var.type)
    k = Binary("add", Binary("mul", outer, const(2, t)), inner)
    body = substitute(s.body, {s.var: binary("add", s.min, k)})
    if guarded:
        body = If(Binary("lt", k, s.extent), body)
    count = binary("floordiv", binary("add", s.extent, 1), 2)
    return For(outer, const(0, t), count, For(inner, const(0, t), const(2, t), body))


def replace_loop(s: For, **fields: object) -> For:
    """The loop with other fields."""
    return replace(s, **fields)  # type: ignore[arg-type]


def _of_sequence(stmts: tuple[Stmt, ...]) -> Iterator[Makes]:
    for k in range(len(stmts)):
        yield "a statement dropped", lambda k=k: seq(*stmts[:k], *stmts[k + 1 :])  # type: ignore[misc]
        yield "a statement twice", lambda k=k: seq(*stmts[: k + 1], *stmts[k:])  # type: ignore[misc]
        if k:
            yield (
                "statements exchanged",
                lambda k=k: seq(*stmts[: k - 1], stmts[k], stmts[k - 1], *stmts[k + 1 :]),  # type: ignore[misc]
            )


def _of_allocation(s: Allocate, b: Buffer, body: Stmt) -> Iterator[Makes]:
    narrower = {"float32": "float16", "int32": "int8", "float64": "float32", "int64": "int32"}.get(str(b.dtype))
    if narrower is not None:
        yield "a local buffer of a narrower type", lambda: _retyped(s, DType.parse(narrower))
    match b.shape:
        case (IntImm(type=t, value=n), *rest) if not b.strides:
            smaller = Buffer(
                b.name, b.data, b.dtype, (const(max(n - 1, 0), t), *rest), (), b.elem_offset, b.axis_separators
            )
            yield "a local buffer too small", lambda: Allocate(smaller, _in_buffer(body, b, smaller))
            if not rest and n > 1:
                yield "places of a local buffer shared", lambda: Allocate(b, _folded(body, b, n - 1))
        case _:
            pass


def _in_buffer(body: Stmt, old: Buffer, new: Buffer) -> Stmt:
    return rewrite(body, lambda n: new if n is old else None)


def _folded(body: Stmt, b: Buffer, modulus: int) -> Stmt:
    def go(n: object) -> Stmt | Expr | None:
        match n:
            case Load(buffer=x, indices=(i,), predicate=p) if x is b:
                return Load(b, (Binary("floormod", i, const(modulus, i.dtype)),), p)
            case Store(buffer=x, value=v, indices=(i,), predicate=p) if x is b:
                return Store(b, v, (Binary("floormod", i, const(modulus, i.dtype)),), p)
            case _:
                return None

    return rewrite(body, go)


def _retyped(s: Allocate, dtype: DType) -> Stmt:
    """The local buffer at another type, values cast on their way in and out."""
    old = s.buffer
    new = Buffer.declare(old.name, old.shape, dtype, scope=old.scope)

    def go(n: object) -> Stmt | Expr | None:
        match n:
            case Load(buffer=b, indices=indices, predicate=p, dtype=was) if b is old:
                return Cast(was, Load(new, indices, p))
            case Store(buffer=b, value=v, indices=indices, predicate=p) if b is old:
                return Store(new, Cast(dtype.with_lanes(v.dtype.lanes), v), indices, p)
            case _:
                return None

    made = rewrite(s.body, go)
    if old.strides or old.axis_separators:
        raise IRError("strides are counted in elements of the old type")
    return Allocate(new, made)


def _of_block(s: Block) -> Iterator[Makes]:
    if s.init is not None:
        yield "an initialisation dropped", lambda: replace(s, init=None)
        yield "an initialisation each time", lambda: replace(s, init=None, body=seq(s.init or seq(), s.body))
    yield "a predicate dropped", lambda: replace(s, predicate=const(1, s.predicate.dtype))
    for k, iv in enumerate(s.iter_vars):
        rest = (
            *s.iter_vars[:k],
            replace(iv, kind="spatial" if iv.kind == "reduce" else "reduce"),
            *s.iter_vars[k + 1 :],
        )
        yield "another kind of axis", lambda rest=rest: replace(s, iter_vars=rest)  # type: ignore[misc]
