"""Run the same instances under another nest of loops.

    for x₁ … xₙ (with guards):            for y₁ … yₘ:
        S(x)                     ⟶            if guards(y): S(g(y))

Theorem.  Let D be the old nest's iteration domain (its ranges and guards), D′ the new one's.  If g maps D′ into D with
left inverse h, and h maps D into D′ with left inverse g, then both nests run the same instances, each once.  If
moreover every two instances that touch one element, one of them writing, stand in the same order, both end in the same
memory (see ``order``).  First all pairs are tried: x before x′ gives h(x) before h(x′).

Empty and negative extents need no care: they make D empty, and the bijection then makes D′ empty too.  The new bounds,
guards and g are evaluated on all of the new nest, also where the old nest had no instance, so they must be safe there.
The old nest evaluates its outermost bounds in any case; that they are safe may be used.
S must change nothing that bounds or guards (old or new) read; except for the bounds of the outermost loops, which are
evaluated once, before any instance.

Split, fuse, reorder, tile, shift, reversal and skewing are instances of this rule; so is a loop that runs once becoming
its body (a nest of no loops has one instance), and a statement becoming the body of such a loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import final

from verified_tir.ir.expr import Expr, Var, all_of
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path, at, put
from verified_tir.ir.stmt import SKIP, Annotations, Block, For, ForKind, If, Stmt
from verified_tir.ir.visit import free_vars, substitute
from verified_tir.kernel.begin import context_at
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import written_blocks
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.moments import lexicographic_less
from verified_tir.kernel.obligation import NoMatch, Question
from verified_tir.kernel.region import instance
from verified_tir.kernel.rules.common import (
    changes,
    evaluated_safely,
    has_effect,
    known_safe,
    never_meet,
    occurs,
    range_safely,
)  # fmt: skip
from verified_tir.kernel.step import Rewrite
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Encoded


@final
@dataclass(frozen=True, slots=True)
class NewLoop:
    """One loop of the new nest; its bounds may use the variables of the loops outside it."""

    var: Var
    min: Expr
    extent: Expr
    kind: ForKind = "serial"
    thread: str = ""
    annotations: Annotations = ()


@final
@dataclass(frozen=True, slots=True)
class Reindex:
    """Replace the nest of ``depth`` statements (loops, guards, labels) at ``path`` by ``loops`` and ``guards``.

    :param old_of_new: g, one expression over the new variables for each old loop, outermost first.
    :param new_of_old: h, one expression over the old variables for each new loop.
    """

    path: Path
    depth: int
    loops: tuple[NewLoop, ...]
    guards: tuple[Expr, ...]
    old_of_new: tuple[Expr, ...]
    new_of_old: tuple[Expr, ...]

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        nest = self._nest(before)
        if isinstance(nest, NoMatch):
            return nest
        chain, body = nest
        old = [s for s in chain if isinstance(s, For)]
        problem = self._misfit(before, old, chain, body)
        if problem is not None:
            return NoMatch(self.path, problem)
        new_body = substitute(body, {loop.var: g for loop, g in zip(old, self.old_of_new, strict=True)})
        for label in reversed([s for s in chain if isinstance(s, Block)]):
            new_body = Block.label(label.name, new_body, label.annotations)
        if self.guards:
            new_body = If(all_of(self.guards), new_body)
        for loop in reversed(self.loops):
            new_body = For(loop.var, loop.min, loop.extent, new_body, loop.kind, loop.thread, loop.annotations)
        after = before.with_body(put(before.body, self.path, new_body))
        context = context_at(before, self.path, entry)
        return Rewrite(after, self._questions(context, chain, old, body))

    def _nest(self, before: PrimFunc) -> tuple[list[Stmt], Stmt] | NoMatch:
        stmt = at(before.body, self.path)
        chain: list[Stmt] = []
        for _ in range(self.depth):
            match stmt:
                case For(body=body) | If(then_body=body, else_body=None):
                    chain.append(stmt)
                    stmt = body
                case Block(is_label=True, body=body):
                    chain.append(stmt)
                    stmt = body
                case _:
                    return NoMatch(self.path, "the nest holds something other than loops and guards")
        return chain, stmt

    def _misfit(self, before: PrimFunc, old: list[For], chain: list[Stmt], body: Stmt) -> str | None:
        """Why the parameters do not fit the program, if they do not."""
        if len(self.old_of_new) != len(old) or len(self.new_of_old) != len(self.loops):
            return f"the nest has {len(old)} loops, the map {len(self.old_of_new)} expressions"
        for loop, g in zip(old, self.old_of_new, strict=True):
            if g.dtype is not loop.var.dtype:
                return f"the new value of {loop.var.name} has type {g.dtype}"
        olds, news = {s.var for s in old}, {s.var for s in self.loops}
        if occurs(before, *news) or len(news) != len(self.loops):
            return "the new loop variables are not fresh"
        if any(olds & set(free_vars(e)) for e in (*self.guards, *self.old_of_new, *_evaluated(self.loops))):
            return "an expression of the new nest mentions an old loop variable"
        once = _evaluated((*chain[:1], *self.loops[:1]))  # before any instance
        again = (*self.guards, *self.old_of_new, *_evaluated((*chain[1:], *self.loops[1:])))
        if has_effect(once) or changes(body, again):
            return "the body writes what bounds or guards read"
        return None

    # -- obligations ----------------------------------------------------------------------------------------------

    def _questions(self, context: Context, chain: list[Stmt], old: list[For], body: Stmt) -> Iterator[Question]:
        xs, old_domain, old_context = _domain(context, chain)
        ys, new_domain, new_context = self._new_domain(context)
        yield from self._safety(context, known_safe(context, _evaluated(chain[:1])))
        old_of_new = self._apply(new_context, self.old_of_new)
        new_of_old = self._apply(old_context, self.new_of_old)
        names = "(" + ", ".join(s.var.name for s in old) + ")"
        _, image, _ = _domain(context, chain, old_of_new)
        _, preimage, _ = self._new_domain(context, new_of_old)
        yield Question("bijection", f"every new iteration is an old one of {names}", new_context, new_domain,
                       f.and_(*image), self.path, "after")  # fmt: skip
        back = [f.eq(h, y) for h, y in zip(self._old_to_new_at(context, old, old_of_new), ys, strict=True)]
        yield Question("bijection", "no old iteration is run twice", new_context, new_domain, f.and_(*back), self.path,
                       "after")  # fmt: skip
        yield Question("bijection", f"every old iteration of {names} is run", old_context, old_domain,
                       f.and_(*preimage), self.path)  # fmt: skip
        forth = [f.eq(g, x) for g, x in zip(self._new_to_old_at(context, new_of_old), xs, strict=True)]
        yield Question("bijection", "each old iteration is run as itself", old_context, old_domain, f.and_(*forth),
                       self.path)  # fmt: skip
        if old and self.loops:  # else there is one instance, if any
            yield self._order(context, chain, old, body)

    def _apply(self, context: Context, exprs: Sequence[Expr]) -> list[Term]:
        encoder = context.encoder()
        return [encoder.value(e) for e in exprs]

    def _old_to_new_at(self, context: Context, old: list[For], xs: list[Term]) -> list[Term]:
        here = context.fork()
        here.env.update({s.var: Encoded(x, f.TRUE, False) for s, x in zip(old, xs, strict=True)})
        return self._apply(here, self.new_of_old)

    def _new_to_old_at(self, context: Context, ys: list[Term]) -> list[Term]:
        here = context.fork()
        here.env.update({s.var: Encoded(y, f.TRUE, False) for s, y in zip(self.loops, ys, strict=True)})
        return self._apply(here, self.old_of_new)

    def _new_domain(
        self, context: Context, values: list[Term] | None = None
    ) -> tuple[list[Term], tuple[Term, ...], Context]:
        chain: list[Stmt] = [For(s.var, s.min, s.extent, SKIP) for s in self.loops]
        chain += [If(g, SKIP) for g in self.guards]
        return _domain(context, chain, values)

    def _safety(self, context: Context, known: tuple[Term, ...]) -> Iterator[Question]:
        """Bounds, guards and g, each under what encloses it in the new nest."""
        here = context.fork()
        for loop in self.loops:
            yield from range_safely(here, loop.min, loop.extent, known, self.path)
            here.bind_loop(For(loop.var, loop.min, loop.extent, SKIP))
        for guard in self.guards:
            yield from evaluated_safely(here, (guard,), known, self.path)
            here.assume(guard)
        yield from evaluated_safely(here, self.old_of_new, known, self.path)

    def _order(self, context: Context, chain: list[Stmt], old: list[For], body: Stmt) -> Question:
        """All pairs keep their order, or else all conflicting ones do."""
        pairs = []
        for _ in range(2):
            xs, domain, here = _domain(context, chain)
            ys, new_domain, _ = self._new_domain(context)
            same = [f.eq(a, b) for a, b in zip(ys, self._old_to_new_at(context, old, xs), strict=True)]
            same += [f.eq(a, b) for a, b in zip(xs, self._new_to_old_at(context, ys), strict=True)]
            pairs.append((xs, ys, (*domain, *new_domain, *same), here))
        (x1, y1, d1, c1), (x2, y2, d2, c2) = pairs
        given = (*d1, *d2)
        old_first = lexicographic_less(x1, x2)
        merged = context.fork()
        merged.names.update(c1.names)
        merged.names.update({k: f"{v}'" for k, v in c2.names.items() if k not in merged.names})
        writes = written_blocks(body)
        first = instance(c1, body, also_written=writes)
        second = instance(c2, body, also_written=writes)
        reversed_order = (*given, old_first, lexicographic_less(y2, y1))
        otherwise = tuple(
            never_meet(
                merged, first.outer(), second.outer(), reversed_order, "iterations change their order", self.path
            )
        )
        claim = "the iterations keep their order"
        goal = lexicographic_less(y1, y2) if otherwise else f.TRUE  # without a conflict any order will do
        return Question("order", claim, merged, (*given, old_first), goal, self.path, "before", otherwise)


def _evaluated(nest: Iterable[Stmt | NewLoop]) -> Iterator[Expr]:
    """What loops and guards evaluate."""
    for s in nest:
        if isinstance(s, (For, NewLoop)):
            yield from (s.min, s.extent)
        elif isinstance(s, If):
            yield s.condition


def _domain(
    context: Context, chain: Sequence[Stmt], values: list[Term] | None = None
) -> tuple[list[Term], tuple[Term, ...], Context]:
    """Fresh variables for the loops of a nest (or the given values), and the conditions of its iteration domain."""
    here = context.fork()
    start = len(here.path)
    variables: list[Term] = []
    for stmt in chain:
        match stmt:
            case For():
                given = values[len(variables)] if values is not None else None
                if given is not None:
                    encoder = here.encoder()
                    low, extent = encoder.value(stmt.min), encoder.value(stmt.extent)
                    here.env[stmt.var] = Encoded(given, f.TRUE, False)
                    here.path.extend((f.le(low, given), f.lt(given, f.add(low, extent))))
                    variables.append(given)
                else:
                    variables.append(here.bind_loop(stmt))
            case If(condition=c):
                here.assume(c)
            case _:
                pass
    return variables, tuple(here.path[start:]), here
