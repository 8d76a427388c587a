"""Skeletons: nests of loops, branches, sequences and labels around holes, as ``reorder`` takes them apart and puts them
together.

A hole is ``Evaluate(IntImm(k))``: nothing else in a skeleton could be taken for one.  What a skeleton evaluates is
looked at in the memory in which it begins.  So a place in it has a *domain*: the ranges and conditions around it, at
values of the loops around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from verified_tir import ir
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import opaque_calls
from verified_tir.kernel.obligation import Misfit, Question
from verified_tir.kernel.rules.common import evaluated_safely
from verified_tir.kernel.rules.rewrite import expressions
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Encoded, Safety


def number_of(stmt: ir.Stmt) -> int:
    """The number of a hole."""
    assert isinstance(stmt, ir.Evaluate) and isinstance(stmt.value, ir.IntImm)
    return stmt.value.value


def filled(skeleton: ir.Stmt, texts: Sequence[ir.Stmt]) -> ir.Stmt:
    """The skeleton with its holes filled."""
    if isinstance(skeleton, ir.Evaluate):
        return texts[number_of(skeleton)]
    if isinstance(skeleton, ir.Seq):
        return ir.seq(*[filled(s, texts) for s in skeleton.stmts])
    return ir.map_children(skeleton, lambda n: filled(n, texts) if isinstance(n, ir.Stmt) else n)


def evaluated_by(skeleton: ir.Stmt, ran: frozenset[int] = frozenset()) -> Iterator[tuple[ir.Expr, frozenset[int]]]:
    """Bounds and conditions, each with the holes that may have run before it is evaluated."""
    match skeleton:
        case ir.For(min=low, extent=extent):
            yield from ((low, ran), (extent, ran))
            ran = ran.union(map(number_of, ir.nodes_of(skeleton, ir.Evaluate)))
        case ir.If(condition=c):
            yield c, ran
    for sub in ir.sub_statements(skeleton):
        yield from evaluated_by(sub, ran)
        if isinstance(skeleton, ir.Seq):
            ran = ran.union(map(number_of, ir.nodes_of(sub, ir.Evaluate)))


def known_of(context: Context, stmt: ir.Stmt) -> Iterator[Term]:
    """What is so wherever a statement begins, since what it evaluates in that memory is safe: bounds and conditions are
    defined, too."""
    match stmt:
        case ir.Seq(stmts=(first, *_)) | ir.Block(is_label=True, body=first):
            yield from known_of(context, first)
        case ir.For(min=low, extent=extent) if not opaque_calls(low, extent):
            yield from _known_safe(context, (low, extent))
            yield last_value_fits(context, low, extent)
        case ir.If(condition=c) if not opaque_calls(c):
            yield from _known_safe(context, (c,))
            for step, sub in enumerate(ir.sub_statements(stmt)):
                inside = enter(context, stmt, (step,))
                yield from (f.implies(f.and_(*inside.domain), t) for t in known_of(inside.context, sub))
        case ir.Store() | ir.LetStmt() if not opaque_calls(*expressions(stmt)):
            yield from _known_safe(context, expressions(stmt), defined=False)


def _known_safe(context: Context, exprs: Sequence[ir.Expr], *, defined: bool = True) -> Iterator[Term]:
    """That it is safe to evaluate the expressions, and gives ``defined`` values."""
    for e in exprs:
        if e.dtype.lanes == 1:
            safety: list[Safety] = []
            value = context.encoder(safety).encode(e)
            yield from (f.implies(f.and_(*s.premises), s.condition) for s in safety)
            if defined:
                yield value.defined


def last_value_fits(context: Context, low: ir.Expr, extent: ir.Expr) -> Term:
    """That the last value of a loop over ``[low, low + extent)`` is one of its type; if there is none, ``low`` is."""
    encoder = context.encoder()
    last = f.sub(f.add(encoder.value(low), encoder.value(extent)), f.integer(1))
    return f.le(last, f.integer(low.dtype.max_value))


@final
@dataclass(frozen=True, slots=True)
class Inside:
    """A place in a skeleton, where the loops around have these values: ``domain`` says that this is an iteration."""

    values: tuple[Term, ...]
    domain: tuple[Term, ...]
    context: Context

    def at(self, exprs: Iterable[ir.Expr]) -> tuple[Term, ...]:
        """Values of expressions there."""
        encoder = self.context.encoder()
        return tuple(encoder.value(e) for e in exprs)


def enter(context: Context, skeleton: ir.Stmt, path: ir.Path, values: Sequence[Term] | None = None) -> Inside:
    """An arbitrary iteration, or the one of these values."""
    here, start, found = context.fork(), len(context.path), list[Term]()
    for step in path:
        evaluated = list[Encoded]()
        match skeleton:
            case ir.For():
                found.append(here.bind_loop(skeleton, None if values is None else values[len(found)]))
                skeleton = skeleton.body
                continue
            case ir.If(condition=e) | ir.LetStmt(value=e):
                evaluated = [here.encoder().encode(e)]
        skeleton = here.into(skeleton, step, evaluated)
    return Inside(tuple(found), tuple(here.path[start:]), here)


def safely(
    here: Context, skeleton: ir.Stmt, values: Mapping[int, Sequence[ir.Expr]], known: tuple[Term, ...], path: ir.Path
) -> Iterator[Question]:
    """Questions whether bounds, conditions, and what is evaluated in each hole are safe and defined."""
    found = list[Question]()
    match skeleton:
        case ir.For(min=low, extent=extent):
            found.extend(evaluated_safely(here, (low, extent), known, path))
            if (fits := last_value_fits(here, low, extent)) is not f.TRUE:
                claim = f"the loop's last value fits {low.dtype}"
                found.append(Question("safety", claim, here, known, fits, path, "after"))
        case ir.If(condition=c):
            found.extend(evaluated_safely(here, (c,), known, path))
        case ir.Evaluate():
            found.extend(evaluated_safely(here, values[number_of(skeleton)], known, path))
    yield from (q for q in found if q.goal not in known)
    for step, sub in enumerate(ir.sub_statements(skeleton)):
        yield from safely(enter(here, skeleton, (step,)).context, sub, values, known, path)


def check_values(loops: Sequence[ir.For], values: Sequence[ir.Expr]) -> None:
    """Check that there is a value of its type for each loop.

    :raises Misfit: if not.
    """
    types, given = [s.var.dtype for s in loops], [e.dtype for e in values]
    if types != given:
        raise Misfit(f"the nest has {len(types)} loops, the map {len(given)} expressions, or they differ in type")


@final
class Skeleton:
    """A skeleton with the places of its holes.

    :raises Misfit: if something else stands in it, or if its holes are not numbered from 0 on.
    """

    def __init__(self, stmt: ir.Stmt) -> None:
        for s in ir.nodes_of(stmt, ir.Stmt):
            if not isinstance(s, (ir.For, ir.If, ir.Seq, ir.Block)) and not (
                isinstance(s, ir.Evaluate) and isinstance(s.value, ir.IntImm)
            ):
                raise Misfit("something other than loops, branches and sequences stands around the holes")
        holes = sorted((number_of(s), p) for p, s in ir.places(stmt, lambda s: isinstance(s, ir.Evaluate)))
        if [k for k, _ in holes] != list(range(len(holes))):
            raise Misfit("the holes are not numbered from 0 on, each in one place")
        self.stmt, self.places = stmt, dict(holes)

    def loops(self, hole: int) -> list[ir.For]:
        """The loops around a hole, outermost first."""
        return ir.loops_around(self.stmt, self.places[hole])

    def named(self, hole: int) -> str:
        """The variables of the loops around a hole, as text."""
        return f"({', '.join(s.var.name for s in self.loops(hole))})"

    def enter(self, context: Context, hole: int, values: Sequence[Term] | None = None) -> Inside:
        """An arbitrary iteration of a hole, or the one of these values."""
        return enter(context, self.stmt, self.places[hole], values)
