"""Skeletons: nests of loops, branches, sequences and labels around holes, as ``reorder`` takes them apart and puts them
together.

A hole is ``Evaluate(IntImm(k))``: nothing else in a skeleton could be taken for one.  What a skeleton evaluates is
looked at in the memory in which it begins.  So a place in it has a *domain*: the ranges and conditions around it, at
values of the loops around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import final

from verified_tir.ir.expr import Expr, IntImm
from verified_tir.ir.paths import Path, at, places
from verified_tir.ir.stmt import Block, Evaluate, For, If, Seq, Stmt, seq
from verified_tir.ir.visit import map_children, sub_statements
from verified_tir.kernel.context import Context
from verified_tir.kernel.rules.common import known_safe, last_value_fits
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Encoded


def is_skeleton(stmt: Stmt) -> bool:
    return (
        isinstance(stmt, (For, If, Seq)) or (isinstance(stmt, Block) and stmt.is_label) or number_of(stmt) is not None
    )


def number_of(stmt: Stmt) -> int | None:
    """The number of a hole."""
    match stmt:
        case Evaluate(value=IntImm(value=k)):
            return k
    return None


def filled(skeleton: Stmt, texts: Sequence[Stmt]) -> Stmt:
    """The skeleton with its holes filled."""
    number = number_of(skeleton)
    if number is not None:
        return texts[number]
    if isinstance(skeleton, Seq):
        return seq(*[filled(s, texts) for s in skeleton.stmts])
    return map_children(skeleton, lambda n: filled(n, texts) if isinstance(n, Stmt) else n)


def evaluated_by(skeleton: Stmt, ran: frozenset[int] = frozenset()) -> Iterator[tuple[Expr, frozenset[int]]]:
    """Bounds and conditions, each with the holes that may have run before it is evaluated."""
    match skeleton:
        case For(min=low, extent=extent):
            yield from ((low, ran), (extent, ran))
            ran = ran.union(Skeleton(skeleton).places)
        case If(condition=c):
            yield c, ran
    for sub in sub_statements(skeleton):
        yield from evaluated_by(sub, ran)
        if isinstance(skeleton, Seq):
            ran = ran.union(Skeleton(sub).places)


def known_of(context: Context, skeleton: Stmt) -> Iterator[Term]:
    """What was safe, and defined, since it is evaluated in any case before the first instance."""
    match skeleton:
        case For(min=low, extent=extent):
            yield from known_safe(context, (low, extent))
            yield last_value_fits(context, low, extent)
        case If(condition=c):
            yield from known_safe(context, (c,))
            for step, sub in enumerate(sub_statements(skeleton)):
                inside = enter(context, skeleton, (step,))
                yield from (f.implies(f.and_(*inside.domain), t) for t in known_of(inside.context, sub))
        case Seq(stmts=(first, *_)) | Block(body=first):
            yield from known_of(context, first)


@final
@dataclass(frozen=True, slots=True)
class Inside:
    """A place in a skeleton, where the loops around have these values: ``domain`` says that this is an iteration."""

    values: tuple[Term, ...]
    domain: tuple[Term, ...]
    context: Context

    def at(self, exprs: Iterable[Expr]) -> tuple[Term, ...]:
        """Values of expressions there."""
        encoder = self.context.encoder()
        return tuple(encoder.value(e) for e in exprs)


def enter(context: Context, skeleton: Stmt, path: Path, values: Sequence[Term] | None = None) -> Inside:
    """An arbitrary iteration, or the one of these values."""
    here, start, found = context.fork(), len(context.path), list[Term]()
    for step in path:
        match skeleton:
            case For():
                found.append(here.bind_loop(skeleton, None if values is None else values[len(found)]))
            case If(condition=c):
                e = here.encoder().encode(c)
                here.passed(Encoded(f.not_(e.value) if step else e.value, e.defined, e.data))
        skeleton = sub_statements(skeleton)[step]
    return Inside(tuple(found), tuple(here.path[start:]), here)


@final
class Skeleton:
    """A skeleton, and where its holes are."""

    def __init__(self, stmt: Stmt) -> None:
        found = places(stmt, lambda s: isinstance(s, Evaluate))
        self.stmt, self.places = stmt, {k: p for p, s in found if (k := number_of(s)) is not None}

    def loops(self, hole: int) -> list[For]:
        """The loops around a hole, outermost first."""
        path = self.places[hole]
        return [s for s in (at(self.stmt, path[:k]) for k in range(len(path))) if isinstance(s, For)]

    def named(self, hole: int) -> str:
        """Their variables, for people."""
        return f"({', '.join(s.var.name for s in self.loops(hole))})"

    def enter(self, context: Context, hole: int, values: Sequence[Term] | None = None) -> Inside:
        """An arbitrary iteration of a hole, or the one of these values."""
        return enter(context, self.stmt, self.places[hole], values)

    def always(self, hole: int, *, taken: bool) -> str:
        """The claim that a hole under no loop is always reached, or never."""
        path = self.places[hole]
        arms = [step for k, step in enumerate(path) if isinstance(at(self.stmt, path[:k]), If)]
        if len(arms) == 1:
            return f"the condition is always {'true' if (arms[0] == 0) is taken else 'false'} here"
        return f"the branch is {'always' if taken else 'never'} taken here"
