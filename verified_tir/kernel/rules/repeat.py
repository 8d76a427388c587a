"""Instances of a statement run again.

    for x: … S(x) …            for x: … S(x) …
    A                    ⟶     A
    B                          for y: if c(y): S(w(y))
                               B

Theorem.  Let the run of S at x = w(y) have ended before this place is reached, once for this run of the sequence in
which both stand.  Suppose that nothing which that run read from outside, and nothing that it wrote, was stored since,
and that whatever it read of what it writes itself, it had written before.  Then running S(w(y)) again leaves memory as
it is.  For S is deterministic (undef is a value here, like any other): it finds the inputs that it found, so it takes
the way that it took, and stores what it stored, all of which is still there.  In between, memory differs; but nobody
else looks.  What S evaluates was safe then, so it is now; only the new loops, conditions and w(y) are new.

The old program's memory is looked at, in which no instance ran again: by induction those that did left it as it was.

If the statement sums into a licensed block (see ``open_bits``), two runs of it could be given two orders of the terms,
where the original has one result; so such a statement is not repeated.

What was stored since, and what ran before, is told as in ``last_write``.

Not handled: an earlier iteration of a loop around both places as the witness; an S with opaque calls, assertions,
``while`` loops or views of its own.  Whether a repeated instance races in a loop marked
parallel is another judgement (``race_free``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, final

from verified_tir.ir.expr import Expr, Var, all_of
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path, at, put
from verified_tir.ir.stmt import (
    SKIP,
    Annotations,
    Assert,
    AttrStmt,
    Block,
    DeclBuffer,
    For,
    ForKind,
    If,
    LetStmt,
    Seq,
    Stmt,
    While,
    seq,
)
from verified_tir.ir.visit import children, refresh_binders, substitute, walk
from verified_tir.kernel.access import Access, conflicts, overlap
from verified_tir.kernel.begin import context_at
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import opaque_calls, read_blocks, written_blocks
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.moments import happens_before
from verified_tir.kernel.obligation import Misfit, Question
from verified_tir.kernel.region import instance
from verified_tir.kernel.rules.common import changes, check_scope, evaluated_safely, occurs, range_safely
from verified_tir.kernel.rules.last_write import Ran, earlier_iterations, reads_of
from verified_tir.kernel.step import Rewrite
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Encoded


@final
@dataclass(frozen=True, slots=True)
class NewLoop:
    """One loop of a new nest; its bounds may use the variables of the loops outside it."""

    var: Var
    min: Expr
    extent: Expr
    kind: ForKind = "serial"
    thread: str = ""
    annotations: Annotations = ()


@final
@dataclass(frozen=True, slots=True)
class Repeat:
    """Run instances of the statement at ``source`` again, before or after the statement at ``path``.

    ``source`` lies in a statement P that comes earlier, in a sequence, than the one in which ``path`` lies.

    :param loops: the loops around the repeated statement, outermost first; ``guards`` are conditions within them.
    :param instance: w, over the new variables: one value for each loop of P around the source, outermost first.
    """

    path: Path
    source: Path
    loops: tuple[NewLoop, ...]
    guards: tuple[Expr, ...]
    instance: tuple[Expr, ...]
    where: Literal["before", "after"] = "before"

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite:
        _, target = (at(before.body, p) for p in (self.source, self.path))
        shared = next((k for k, (a, b) in enumerate(zip(self.source, self.path, strict=False)) if a != b), None)
        if shared is None or not isinstance(at(before.body, self.path[:shared]), Seq):
            raise Misfit("the source and the place stand in no two statements of one sequence")
        if self.source[shared] > self.path[shared]:
            raise Misfit("the source comes after the place; what is repeated must have run before")
        again = _Again(self, before, shared)
        problem = again.misfit()
        if written_blocks(again.source) & entry.licensed:
            problem = "what runs again sums into a licensed block: the two sums could be told apart"
        if problem is not None:
            raise Misfit(problem)
        added = again.nest()
        origin, place, since = again.walk(entry)
        check_scope(place, added)
        new = seq(added, target) if self.where == "before" else seq(target, added)
        return Rewrite(before.with_body(put(before.body, self.path, new)), again.questions(origin, place, since))


@final
class _Again:
    """One application: the source S in the statement P of a sequence, and the place in a later statement Q."""

    def __init__(self, rule: Repeat, before: PrimFunc, shared: int) -> None:
        self.rule, self.before, self.shared = rule, before, shared
        body = at(before.body, rule.path[:shared])
        assert isinstance(body, Seq)
        self.sequence = body.stmts
        self.first, self.last = rule.source[shared], rule.path[shared]
        self.inside = rule.source[shared + 1 :]
        self.chain: list[Stmt] = []
        stmt = self.whole = self.sequence[self.first]
        for k in range(len(self.inside)):
            self.chain.append(stmt)
            stmt = at(before.body, rule.source[: shared + 2 + k])
        self.source = stmt
        self.old = [s for s in self.chain if isinstance(s, For)]

    def misfit(self) -> str | None:
        """Why the parameters do not fit the program, if they do not."""
        rule = self.rule
        if any(opaque_calls(s) for s in self.sequence[self.first : self.last + 1]):
            return "an opaque call stands there, which may read and write everything"
        if any(isinstance(n, Block) and not n.is_label for n in walk(self.whole)):
            return "a block with iteration variables stands there; it must be expanded first"
        for n in walk(self.source):
            if isinstance(n, (Assert, While, DeclBuffer)):
                return f"the source holds a {type(n).__name__}; such a statement is not repeated"
        for s in self.chain:
            if not isinstance(s, (For, If, Seq, AttrStmt, LetStmt, Block)):
                return f"a {type(s).__name__} stands around the source; only loops, conditions and lets may"
        around = [e for s in self.chain for e in children(s) if isinstance(e, Expr)]
        if changes(self.whole, around):
            return "what the source stands in writes what its bounds or conditions read"
        if len(rule.instance) != len(self.old):
            return f"{len(self.old)} loops stand around the source, {len(rule.instance)} values are given"
        for loop, w in zip(self.old, rule.instance, strict=True):
            if w.dtype is not loop.var.dtype:
                return f"the value of {loop.var.name} has type {w.dtype}"
        variables = {s.var for s in rule.loops}
        if len(variables) != len(rule.loops) or occurs(self.before, *variables):
            return "the new loop variables are not fresh"
        new = [*rule.guards, *rule.instance, *(e for s in rule.loops for e in (s.min, s.extent))]
        if changes(self.source, new):
            return "the source writes what the new bounds, conditions or values read"
        return None

    def nest(self) -> Stmt:
        """The statement that appears."""
        copy, _ = refresh_binders(self.source)
        made = substitute(copy, {s.var: w for s, w in zip(self.old, self.rule.instance, strict=True)})
        if self.rule.guards:
            made = If(all_of(self.rule.guards), made)
        for s in reversed(self.rule.loops):
            made = For(s.var, s.min, s.extent, made, s.kind, s.thread, s.annotations)
        return made

    def walk(self, entry: Entry) -> tuple[Context, Context, list[Ran]]:
        """Where P begins, the place, and what ran since P ended.  One walk: all three speak of one run."""
        rule = self.rule
        here = context_at(self.before, rule.path[: self.shared], entry)
        for s in self.sequence[: self.first]:
            here.execute(s)
        origin = here.fork()
        here.execute(self.whole)
        since: list[Ran] = []

        def past(stmts: tuple[Stmt, ...]) -> None:
            for s in stmts:
                since.append(Ran(here.fork(), s, {}))
                here.execute(s)

        past(self.sequence[self.first + 1 : self.last])
        stmt = self.sequence[self.last]
        for step in rule.path[self.shared + 1 :]:
            begun = here.fork()
            if isinstance(stmt, Seq):
                past(stmt.stmts[:step])
                stmt = stmt.stmts[step]
                continue
            loop, stmt = stmt, here.enter(stmt, step)
            if isinstance(loop, For):
                since.append(earlier_iterations(begun, loop, here.env[loop.var].value))
            elif isinstance(loop, While):
                since.append(Ran(begun, loop, {}))
        if rule.where == "after":
            past((stmt,))
        return origin, here, since

    # -- obligations --------------------------------------------------------------------------------------------

    def questions(self, origin: Context, place: Context, since: list[Ran]) -> Iterator[Question]:
        path = self.rule.path
        yield from self._new_domain(place)
        w = [place.encoder().value(e) for e in self.rule.instance]
        start = place.fork()  # its variables, in the memory from before
        start.memory = dict(origin.memory)
        ran = self._old_domain(start, w)
        claim = "the instance that runs again has run before"
        yield Question("repeat", claim, place, (), f.and_(*ran), path, "after")
        start.path.extend(ran)
        start.repeat(self.whole, self.whole)  # P has been running for a while when it gets to the source
        first = instance(start, self.source)
        yield from self._written_first(start, first.context)
        yield from self._unchanged(first.context, list(first.outer()), self._later(origin, w))
        for s in since:
            stores = instance(s.context, s.stmt, env=s.env, given=s.given).outer()
            yield from self._unchanged(first.context, list(first.outer()), [a for a in stores if a.write])

    def _new_domain(self, place: Context) -> Iterator[Question]:
        """Bounds, conditions and w are safe, each under what encloses it; ``place`` becomes that of the instance."""
        path = self.rule.path
        for loop in self.rule.loops:
            yield from range_safely(place, loop.min, loop.extent, (), path)
            place.bind_loop(For(loop.var, loop.min, loop.extent, SKIP))
        for guard in self.rule.guards:
            yield from evaluated_safely(place, (guard,), (), path)
            place.assume(guard)
        yield from evaluated_safely(place, self.rule.instance, (), path)

    def _old_domain(self, here: Context, w: list[Term]) -> list[Term]:
        """Conditions under which P runs the source at ``w``; ``here`` then knows the variables around it.

        Nothing in P changes what they read, so the memory in which P begins tells.
        """
        values, found = iter(w), list[Term]()
        for stmt, step in zip(self.chain, self.inside, strict=True):
            encoder = here.encoder()
            match stmt:
                case For(var=v, min=low, extent=extent):
                    start, x = encoder.value(low), next(values)
                    found.extend((f.le(start, x), f.lt(x, f.add(start, encoder.value(extent)))))
                    here.env[v] = Encoded(x, f.TRUE, False)
                case If(condition=c):
                    value = encoder.value(c)
                    found.append(value if step == 0 else f.not_(value))
                case LetStmt(var=v, value=e):
                    here.env[v] = encoder.encode(e)
                case _:
                    pass
        return found

    def _written_first(self, start: Context, merged: Context) -> Iterator[Question]:
        """What the run reads of what it writes itself, it has written before."""
        own = read_blocks(self.source) & written_blocks(self.source)
        if not own:
            return
        writes = [a for a in instance(start, self.source).outer() if a.write]
        for read in reads_of(start, self.source, own, place=self.rule.source):
            for a, b in conflicts([read.access], writes):
                name = "" if a.buffer is None else a.buffer.name
                claim = f"what the repeated statement reads and writes of {name}, it writes first"
                goal = f.or_(read.written, f.not_(overlap(merged, a, b)))
                yield Question("repeat", claim, read.context, (*read.given, *b.given), goal, read.place)

    def _later(self, origin: Context, w: list[Term]) -> list[Access]:
        """The stores of P after the run of the source at ``w``."""
        found = []
        for a in instance(origin, self.whole).outer():
            if not a.write or a.buffer is None:
                continue
            later = happens_before(self.whole, (self.inside, w), (a.place, a.inner))
            found.append(replace(a, given=(*a.given, later)))
        return found

    def _unchanged(self, context: Context, mine: list[Access], stores: list[Access]) -> Iterator[Question]:
        for a, b in conflicts(mine, stores):
            if a.buffer is None or b.buffer is None:
                continue
            verb = "wrote to" if a.write else "read from"
            claim = f"what the repeated statement {verb} {a.buffer.name} was not stored since"
            given = (*a.given, *b.given)
            yield Question("repeat", claim, context, given, f.not_(overlap(context, a, b)), self.rule.path, "after")
