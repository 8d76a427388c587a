"""The session of a schedule with the kernel: it applies rules, and keeps the theorem and the record.

Tactics are untrusted.  They see a :class:`Session`, look at the current program, and ask for rules; what they return is
handles.  Whatever they get wrong ends in a refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar, final

from verified_tir.elaborate.own_memory import as_if_placed
from verified_tir.index.bounds import Ranges
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.find import loop_path, places_of
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path, at
from verified_tir.ir.stmt import SKIP, Allocate, Block, For, Seq, Stmt, Store
from verified_tir.ir.visit import bound_vars, nodes_of
from verified_tir.kernel.begin import context_at
from verified_tir.kernel.context import Context
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.obligation import NoMatch, Refusal
from verified_tir.kernel.race_free import prove_race_free
from verified_tir.kernel.theorem import Refines, Rule, apply, licensed, without_licence
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict import Discharged, Proved
from verified_tir.schedule import codes
from verified_tir.schedule.claims import claim_of
from verified_tir.schedule.folding import with_constants_folded
from verified_tir.schedule.races import newly_private, spoiled
from verified_tir.schedule.rule_builders import RuleBuilder
from verified_tir.schedule.shown import described, loop_described, loop_range

if TYPE_CHECKING:
    from verified_tir.schedule.tactics.counted import Orders

S = TypeVar("S", bound=Stmt)
T = TypeVar("T")
Handle: TypeAlias = Var | str
"""A loop, by its variable or its name; where a block may be meant, its name."""


class TacticFailed(Exception):
    """A tactic cannot go on: the kernel refused, or the tactic found nothing to do.  The façade turns it into a
    report.  ``code`` is that of a refusal by the tactic itself, if it has one of its own."""

    def __init__(self, refusal: Refusal, code: str = "") -> None:
        super().__init__()  # no text: that of a refusal's terms is not small, and the façade has its own
        self.refusal = refusal
        self.code = code

    def __str__(self) -> str:
        return str(self.refusal)


def fail(reason: str, path: Path = (), *, code: str = "") -> TacticFailed:
    """A refusal by the tactic itself.

    :param code: one of :mod:`verified_tir.schedule.codes`; that of the primitive, unless given.
    """
    return TacticFailed(NoMatch(path, reason), code)


def with_hint(failed: TacticFailed, hint: str) -> TacticFailed:
    """A refusal of the kernel with something added to its claim, for what people read."""
    refusal = failed.refusal
    if isinstance(refusal, NoMatch):
        return TacticFailed(replace(refusal, reason=f"{refusal.reason} ({hint})"), failed.code)
    claim = f"{refusal.obligation.claim} ({hint})"
    return TacticFailed(replace(refusal, obligation=replace(refusal.obligation, claim=claim)))


@final
@dataclass(slots=True)
class Session:
    """The current theorem and the means to extend it."""

    theorem: Refines
    prover: Prover
    renamed: dict[Var, Var] = field(default_factory=dict)
    """Loops that a step rebuilt: old variable to new one, so that handles stay good."""
    gone: dict[Var, str] = field(default_factory=dict)
    """Loops that a step replaced: what became of them."""
    axes: dict[str, tuple[Var, ...]] = field(default_factory=dict)
    """By block, the loops that are its iteration variables, where their order is known to be another one than that in
    which they first stood around it (see ``block_domain``)."""
    parts: dict[Var, tuple[Var, ...]] = field(default_factory=dict)
    """Loops that were split: into which."""
    handles_of_tvm: bool = False
    """Whether handles mean after ``rfactor`` what they mean in TVM, as in its traces."""
    races: list[Discharged] = field(default_factory=list)
    """What was proved on the way of the marked loops that steps could have spoiled."""
    waiting: frozenset[Var] = frozenset()
    """Memory that steps put into a scope that threads do not share: it may have to wait until its threads allocate it
    (see ``own_memory``)."""
    declared: Orders = field(default_factory=dict)
    """Orders of buffers that blocks declare (see ``tactics.counted``)."""
    calls: list[str] = field(default_factory=list)
    """What the user called for each step of the derivation, for messages."""

    @property
    def func(self) -> PrimFunc:
        """The program as it is now."""
        return self.theorem.after

    @property
    def solver(self) -> Solver:
        return self.prover.solver

    def apply(self, *rules: Rule | RuleBuilder) -> None:
        """Take steps: each by a rule, or by what makes one of the program as it is.

        Whether marked loops may still run as they are marked is asked of the program that the last one gives.

        :raises TacticFailed: if the kernel refuses one, or a marked loop would race; the theorem is then unchanged.
        """
        theorem = self.theorem
        for rule in rules:
            made = rule(theorem.after) if callable(rule) else rule
            if isinstance(made, NoMatch):
                raise TacticFailed(made)
            result = apply(made, theorem, self.prover)
            if not isinstance(result, Refines):
                raise TacticFailed(result)
            theorem = with_constants_folded(made, theorem.after, result, self.prover)
        steps = theorem.derivation[len(self.theorem.derivation) :]
        asked = spoiled(self.func, theorem.after, steps)
        waiting = newly_private(self.func, theorem.after, steps, self.waiting)
        placed = as_if_placed(theorem.after, waiting) if asked else theorem.after
        if placed is not theorem.after:
            loops = {self._loop_var(theorem.after, path) for path in asked}
            asked = [path for path, _ in places_of(placed.body, For, lambda s: s.var in loops)]
        free = prove_race_free(placed, self.prover, theorem.entry, asked) if asked else ()
        if not isinstance(free, tuple):
            raise TacticFailed(free)
        self.theorem, self.waiting = theorem, waiting
        self.races.extend(free)

    @contextmanager
    def atomic(self) -> Iterator[None]:
        """All of the steps in the block, or none: whatever is raised there, the session is as it was before."""
        before = (self.theorem, self.waiting, dict(self.renamed), dict(self.gone), dict(self.axes), dict(self.parts))
        races = len(self.races)
        try:
            yield
        except BaseException:
            self.theorem, self.waiting, self.renamed, self.gone, self.axes, self.parts = before
            del self.races[races:]
            raise

    @staticmethod
    def _loop_var(func: PrimFunc, path: Path) -> Var:
        loop = at(func.body, path)
        assert isinstance(loop, For)
        return loop.var

    # -- licences ------------------------------------------------------------------------------------------------

    def origins(self, data: Var) -> frozenset[Var]:
        """The blocks of the first program whose contents a block stands for now; itself if it was there."""
        found = {data}
        for step in reversed(self.theorem.derivation):
            new = {n for n, _ in step.made.heirs} & found
            found = (found - new) | {old for n, old in step.made.heirs if n in new}
        return frozenset(found)

    @contextmanager
    def licence(self, data: Var) -> Iterator[None]:
        """In the block, floats may be summed into a block in any order; all steps so far are proved again for that.

        :raises TacticFailed: if a step needed the bits of what is summed.
        """
        theorem = self.theorem
        blocks = self.origins(data) | theorem.reassociated
        own = {b.data for b in allocated(theorem.before)}
        if not blocks <= own:
            name = owner(self.func, data).name
            raise fail(
                f"{name} is not in the program as written, nor does it stand for what is; reassociate there",
                code=codes.NOT_REASSOCIABLE,
            )
        found = licensed(theorem, blocks, self.prover)
        if isinstance(found, tuple):
            step, refusal = found
            raise fail(_needs_bits(self.calls, step, refusal), code=codes.NOT_REASSOCIABLE)
        self.theorem = found
        try:
            yield
        except BaseException:
            self.theorem = theorem
            raise
        self.theorem = without_licence(self.theorem)

    @contextmanager
    def hastily(self) -> Iterator[None]:
        """In the block, what takes long to decide about floats counts as refused."""
        before, self.prover.hasty = self.prover.hasty, True
        try:
            yield
        finally:
            self.prover.hasty = before

    def attempt(self, *rules: Rule | RuleBuilder) -> bool:
        """Take the steps if the kernel allows them all."""
        try:
            self.apply(*rules)
        except TacticFailed:
            return False
        return True

    def succeeds(self, steps: Callable[[], object]) -> bool:
        """Take all of some steps if they succeed, or none."""
        try:
            with self.atomic():
                steps()
        except TacticFailed:
            return False
        return True

    def first_of(self, ways: Iterable[Callable[[], T]], otherwise: TacticFailed | None = None) -> T:
        """What the first of several ways gives that succeeds; of the others nothing is left.

        :raises TacticFailed: if none does: what is against the first; ``otherwise``, if there is none.
        """
        problem: TacticFailed | None = None
        for way in ways:
            try:
                with self.atomic():
                    return way()
            except TacticFailed as refused:
                problem = problem or refused
        problem = problem or otherwise
        assert problem is not None
        raise problem

    def each(
        self, kind: type[S], change: Callable[[Path, S], int], wanted: Callable[[S], bool] = lambda _: True,
        under: Path = (), *, last_first: bool = False,
    ) -> int:  # fmt: skip
        """Offer every wanted statement of a class at or below a place to ``change``, in program order or against it, as
        often as it gives more than nothing; gives the sum."""
        changed = 0
        stay: set[Stmt] = set()
        while found := self.find(kind, lambda s: s not in stay and wanted(s), under):
            path, stmt = found[-1 if last_first else 0]
            gained = change(path, stmt)
            if not gained:
                stay.add(stmt)
            changed += gained
        return changed

    # -- handles ---------------------------------------------------------------------------------------------------

    def current(self, var: Var) -> Var:
        """The variable that a handle stands for now."""
        while var in self.renamed:
            var = self.renamed[var]
        return var

    def follow(self, old: Stmt, new: Stmt) -> None:
        """Handles into ``old`` stand for the loops of its copy ``new`` from now on."""
        pairs = zip(bound_vars(old), bound_vars(new), strict=True)
        self.renamed.update({a: b for a, b in pairs if a is not b})

    def place(self, handle: Handle) -> Path:
        """Where a block stands; or a loop, if no block has that name.

        :raises TacticFailed: if there is neither, or there are several.
        """
        named = isinstance(handle, str) and self.has_block(handle)
        return self.block(str(handle))[0] if named else self.loop(handle)[0]

    def loop(self, handle: Handle) -> tuple[Path, For]:
        """The loop that a handle or a name means.

        :raises TacticFailed: if there is none, or several of that name.
        """
        if isinstance(handle, str):
            named = self.named_loop(handle)
            return self.find(For, lambda s: s is named)[0]
        if not isinstance(handle, Var):
            raise fail(
                f"a loop is given by its variable or its name, not by {described(handle)}", code=codes.NOT_A_LOOP
            )
        path = self._loop_over(handle)
        return path, self.at(path, For)

    def named_loop(self, name: str) -> For:
        """The loop of a name.

        :raises TacticFailed: if there is none, or several of that name.
        """
        found = [s for s in nodes_of(self.func.body, For) if s.var.name == name]
        if not found:
            names = list(dict.fromkeys(s.var.name for s in nodes_of(self.func.body, For)))
            known = f"the loops are {', '.join(names)}" if names else "the program has no loop"
            raise fail(f"there is no loop called {name!r}; {known}", code=codes.NO_LOOP)
        if len(found) > 1:
            raise fail(
                f"there are {len(found)} loops called {name!r}: {'; '.join(map(loop_described, found))}. "
                "Use the variable that a primitive or loops(block) gave",
                code=codes.AMBIGUOUS_LOOP,
            )
        return found[0]

    def _loop_over(self, handle: Var) -> Path:
        var = self.current(handle)
        place = loop_path(self.func, var)
        if place is not None:
            return place
        if var in self.gone:
            raise fail(f"the loop over {handle.name} is no longer there: {self.gone[var]}", code=codes.LOOP_IS_GONE)
        programs = [self.theorem.before, *(step.after for step in self.theorem.derivation)]
        if any(loop_path(f, v) is not None for f in programs for v in (handle, var)):
            raise fail(f"the loop over {handle.name} is no longer there", code=codes.LOOP_IS_GONE)
        reason = f"the handle {handle.name} is not a loop of this schedule (did another schedule give it?)"
        raise fail(reason, code=codes.NOT_A_LOOP)

    def block(self, name: str) -> tuple[Path, Block]:
        """The block of a name.

        :raises TacticFailed: if there is none, or several of that name.
        """
        if not isinstance(name, str):
            raise fail(f"a block is given by its name, not by {described(name)}", code=codes.NO_BLOCK)
        found = self.find(Block, lambda s: s.name == name)
        if not found and (other := self.block_of_tvm(name)) is not None:
            return self.block(other)
        if not found:
            names = list(dict.fromkeys(s.name for s in nodes_of(self.func.body, Block)))
            known = f"the blocks are {', '.join(names)}" if names else "the program has no block"
            raise fail(f"there is no block called {name!r}; {known}", code=codes.NO_BLOCK)
        if len(found) > 1:
            around = [self._loops_around(p) for p, _ in found]
            reason = f"there are {len(found)} blocks called {name!r}, {'; '.join(around)}"
            raise fail(reason, code=codes.AMBIGUOUS_BLOCK)
        return found[0]

    def block_of_tvm(self, name: str) -> str | None:
        """The name of the block that has this one in TVM: the update of a decomposed reduction, or what copies a cache
        back; ``None`` if there is none."""
        other = name.removesuffix("_update") if name.endswith("_update") else f"{name}_back"
        made = f"{other}_init" if name.endswith("_update") else other
        return other if {other, made} <= self.block_names() else None

    def has_block(self, name: str) -> bool:
        """Whether there is a block of that name."""
        return name in self.block_names()

    def has_loop(self, name: str) -> bool:
        """Whether there is a loop of that name."""
        return any(s.var.name == name for s in nodes_of(self.func.body, For))

    def block_names(self) -> set[str]:
        """The names of all blocks."""
        return {b.name for b in nodes_of(self.func.body, Block)}

    def _loops_around(self, path: Path) -> str:
        ranges = [loop_range(s) for s in self.loops_around(path)]
        return f"one under {', '.join(ranges)}" if ranges else "one under no loop"

    # -- looking at the program ------------------------------------------------------------------------------------

    def context(self, path: Path) -> Context:
        return context_at(self.func, path, self.theorem.entry)

    def stmt(self, path: Path) -> Stmt:
        return at(self.func.body, path)

    def at(self, path: Path, kind: type[S]) -> S:
        """The statement at a place, which is known to be of a class."""
        stmt = self.stmt(path)
        assert isinstance(stmt, kind)
        return stmt

    def find(
        self, kind: type[S], wanted: Callable[[S], bool] = lambda _: True, under: Path = ()
    ) -> list[tuple[Path, S]]:
        """The statements of a class that are wanted, at or below a place, in program order."""
        return [((*under, *p), s) for p, s in places_of(self.left(under), kind, wanted)]

    def stores_to(self, buffer: Buffer, under: Path = ()) -> list[tuple[Path, Store]]:
        """The stores to a buffer, through no other view."""
        return self.find(Store, lambda s: s.buffer is buffer, under)

    @property
    def buffers(self) -> list[Buffer]:
        """The parameters and then the local buffers in program order."""
        return [*self.func.buffers, *(s.buffer for _, s in self.find(Allocate))]

    def allocation(self, buffer: Buffer) -> Path | None:
        """Where the block of a buffer is allocated; ``None`` for a parameter."""
        return next((p for p, _ in self.find(Allocate, lambda s: s.buffer.data is buffer.data)), None)

    def loops_around(self, path: Path, start: int = 0) -> list[For]:
        """The loops around a place, outermost first; only those that stand ``start`` steps deep or deeper."""
        return [s for k in range(start, len(path)) if isinstance(s := self.stmt(path[:k]), For)]

    def ranges(self, path: Path) -> Ranges:
        """The ranges of the loops around a place."""
        return {s.var: (s.min, s.extent) for s in self.loops_around(path)}

    def parting(self, first: Path, second: Path) -> int | None:
        """How many steps lead to the sequence in two statements of which two places lie; ``None`` if there is none."""
        steps = next((k for k, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), None)
        return steps if steps is not None and isinstance(self.stmt(first[:steps]), Seq) else None

    def left(self, path: Path) -> Stmt:
        """The statement at a place; an empty one if the place is gone."""
        try:
            return self.stmt(path)
        except IRError:
            return SKIP

    def knows(self, path: Path, condition: Expr) -> bool:
        """Whether a condition is provably true at a place (a tactic's question; nothing rests on the answer)."""
        context = self.context(path)
        encoded = context.encoder().encode(condition)
        verdict, _ = self.prover.prove(context, (encoded.defined,), encoded.value)
        return isinstance(verdict, Proved)


def allocated(func: PrimFunc) -> list[Buffer]:
    """The buffers as which blocks were passed or allocated, parameters first."""
    return [*func.buffers, *(n.buffer for n in nodes_of(func.body, Allocate))]


def owner(func: PrimFunc, data: Var) -> Buffer:
    """The buffer as which a block was passed or allocated."""
    return next(b for b in allocated(func) if b.data is data)


def _needs_bits(calls: Sequence[str], step: int, refusal: Refusal) -> str:
    """Why a licence cannot be given after all."""
    why = refusal.reason if isinstance(refusal, NoMatch) else claim_of(refusal.obligation)
    if step < 0:
        return f"what the program does depends on the order of the sum: {why}"
    call = calls[step] if step < len(calls) else "a step"
    return f"{call} was proved from the bits of a result: {why}; reassociate before that step"
