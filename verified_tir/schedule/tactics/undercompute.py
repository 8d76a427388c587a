"""Branching instead of overcompute: the way back (RFC 77, "New Primitive - Remove Overcompute Through Branching").

    for io, ii in T.grid(4, 4):                  for io, ii in T.grid(4, 4):
        B[io, ii] = A[io, ii] * 2                    if io != 3 or ii < 2:
    for io, ii in T.grid(4, 4):          ⟶               B[io, ii] = A[io, ii] * 2
        if io == 3 and ii >= 2:                  for io, ii in T.grid(4, 4):
            B[io, ii] = 0                            if io == 3 and ii >= 2:
                                                         B[io, ii] = 0

Padding is known by what the relation declares of a parameter, by an assumption ``c or A[io, ii] == v``, or by a nest
that stores a constant under a condition.  Wherever a buffer with padding is accessed, the statements in the innermost
loop that its padding depends on are put under the condition that it is padding (``introduce``).  There they must be
without effect (``erase``): they write what is there already, or what a later statement overwrites; for that the loops
around are split in two first.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

from verified_tir.index.bounds import Bounds
from verified_tir.index.conditions import negate, operands
from verified_tir.index.fold import size
from verified_tir.index.simplify import Simplifier
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Binary, Expr, Load, Undef, Var
from verified_tir.ir.paths import Path, places
from verified_tir.ir.poly import counted_in
from verified_tir.ir.stmt import Assume, For, If, Seq, Stmt, Store
from verified_tir.ir.sugar import all_of
from verified_tir.ir.visit import children, free_vars, nodes_of, substitute
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import EVERYTHING, written_blocks
from verified_tir.kernel.rules.erase import Erase
from verified_tir.schedule import codes, moves
from verified_tir.schedule.edits import rewritten
from verified_tir.schedule.session import Session, TacticFailed, fail
from verified_tir.schedule.tactics.conditionals import trim
from verified_tir.schedule.tactics.fission import separate
from verified_tir.schedule.tactics.no_op import FARTHEST
from verified_tir.schedule.tactics.overcompute import better
from verified_tir.schedule.tactics.simplify import known_at


@final
@dataclass(frozen=True, slots=True)
class KnownPadding:
    """Where an element of a buffer is padding whose value is known, in terms of its indices.

    ``filled`` is the store that fills it; ``None`` if it is known from the start.
    """

    buffer: Buffer
    indices: tuple[Var, ...]
    predicate: Expr
    filled: Store | None

    def at(self, indices: Sequence[Expr]) -> Expr:
        """The predicate for one element."""
        at = {v: counted_in(e, v.dtype) for v, e in zip(self.indices, indices, strict=True)}
        return substitute(self.predicate, at)


def remove_overcompute_through_branching(session: Session, under: Path = ()) -> int:
    """Keep statements at or below a place from running on padding, wherever that changes nothing; gives how many
    branches were introduced.

    :raises TacticFailed: if no padding is known, or nothing runs on it that could be left out; with what is against the
        first.
    """
    known = list(known_paddings(session))
    if not known:
        raise fail(
            "no padding is known: none is declared, assumed, or filled by a nest with a condition",
            under,
            code=codes.NOTHING_TO_CHANGE,
        )
    branches = 0
    tried: set[tuple[Stmt, Expr]] = set()  # stores, and when they meet padding
    first: TacticFailed | None = None
    while True:
        found = next((c for c in _candidates(session, under, known) if c[2:] not in tried), None)
        if found is None:
            break
        place, where, stmt, condition = found
        tried.add((stmt, condition))
        if session.knows(where, negate(condition)) or session.knows(where, condition):
            continue  # always or never: no branch would tell
        try:
            with session.atomic():
                _keep_out(session, place, condition)
            branches += 1
        except TacticFailed as problem:
            first = first or problem
    if not branches:
        raise first or fail("nothing runs on padding", under, code=codes.NOTHING_TO_CHANGE)
    return branches


# ------------------------------------------------------------------------------------------------- where padding is


def known_paddings(session: Session) -> Iterator[KnownPadding]:
    """The padding of every buffer, as far as the program or the relation says what it holds."""
    for p in session.theorem.paddings:
        known = p.value is not None and not isinstance(p.value, Undef) and not p.owed
        if known and p.buffer in session.func.buffers:
            yield KnownPadding(p.buffer, p.indices, p.predicate, None)
    for path, stmt in places(session.func.body, lambda s: isinstance(s, (Assume, Store))):
        if isinstance(stmt, Assume):
            *others, last = operands("or", stmt.condition)
            match last:
                case Binary(op="eq", a=Load(buffer=b, indices=indices)) if others and _all_variables(indices):
                    yield KnownPadding(b, indices, all_of([negate(c) for c in others]), None)  # type: ignore[arg-type]
        elif isinstance(stmt, Store) and _all_variables(stmt.indices):
            around = [session.stmt(path[:k]) for k in range(len(path))]
            guards = [s.condition for k, s in enumerate(around) if isinstance(s, If) and path[k] == 0]
            constant = not nodes_of(stmt.value, Load)
            if guards and constant and len(guards) == sum(isinstance(s, If) for s in around):
                yield KnownPadding(stmt.buffer, stmt.indices, all_of(guards), stmt)  # type: ignore[arg-type]


def _all_variables(indices: Sequence[Expr]) -> bool:
    return all(isinstance(i, Var) for i in indices) and len(set(indices)) == len(indices)


# ------------------------------------------------------------------------------------------- what runs on padding


def _candidates(session: Session, under: Path, known: list[KnownPadding]) -> Iterator[tuple[Path, Path, Stmt, Expr]]:
    """Places of statements that run on padding, with the place of the store that does, the store, and when it does."""
    for path, stmt in session.find(Store, under=under):
        for access in _accesses(stmt):
            for padding in known:
                if access.buffer is not padding.buffer or stmt is padding.filled:
                    continue
                condition = padding.at(access.indices)
                place = _where_bound(session, path, condition)
                if place is None or not _can_stand(session.context(place), condition):
                    continue  # it is known in another loop, whose variables tell nothing here
                ranges, facts = known_at(session, place)
                simplifier = Simplifier(Bounds(ranges, facts.facts))
                shorter = simplifier.expr(condition)
                yield place, path, stmt, shorter if size(shorter) < size(condition) else condition


def _can_stand(context: Context, condition: Expr) -> bool:
    """Whether what the condition mentions is in scope there."""
    variables = all(v in context.env for v in free_vars(condition) if v.dtype.code != "handle")
    return variables and all(b.data in context.memory for b in nodes_of(condition, Buffer))


def _accesses(stmt: Store) -> Iterator[Load]:
    if stmt.value.dtype.lanes == 1 and all(i.dtype.lanes == 1 for i in stmt.indices):
        yield Load(stmt.buffer, stmt.indices)
    for e in children(stmt):
        yield from (n for n in nodes_of(e, Load) if all(i.dtype.lanes == 1 for i in n.indices))


def _where_bound(session: Session, path: Path, condition: Expr) -> Path | None:
    """The body of the innermost loop around a place that binds a variable of the condition."""
    variables = set(free_vars(condition))
    for k in range(len(path) - 1, -1, -1):
        stmt = session.stmt(path[:k])
        if isinstance(stmt, For) and stmt.var in variables:
            return (*path[:k], 0)
        if getattr(stmt, "var", None) in variables:
            return None  # a let: what is under it is not all that runs in the iteration
    return None


def _keep_out(session: Session, place: Path, condition: Expr) -> None:
    """``S`` ⟶ ``if not condition: S``."""
    wanted = written_blocks(session.stmt(place))
    session.apply(moves.introduce(place, condition))
    try:
        with session.atomic():
            session.apply(Erase((*place, 0)))
            trim(session, place)
            _positive(session, place)
        return
    except TacticFailed as problem:
        why = problem
    if EVERYTHING in wanted:
        raise why
    _overwritten_later(session, place, wanted, why)


def _overwritten_later(session: Session, place: Path, wanted: set[Var], why: TacticFailed) -> None:
    """Split the two arms, and the loops around them, and erase the first part because of a statement behind.

    :raises TacticFailed: if none overwrites it; with what is against the nearest that writes there, or else ``why``.
    """
    for depth in range(len(place) - 1, -1, -1):
        around = session.stmt(place[:depth])
        if not isinstance(around, Seq):
            continue
        if any(isinstance(session.stmt(place[:k]), Seq) for k in range(depth + 1, len(place))):
            break  # what stands beside the loops would go with the first part
        top, behind = place[: depth + 1], around.stmts[place[depth] + 1 :][:FARTHEST]
        overwriting = [k for k, s in enumerate(behind, start=2) if wanted & written_blocks(s)]
        for distance, padding_first in itertools.product(overwriting, (True, False)):
            try:
                with session.atomic():
                    if not padding_first:
                        session.apply(moves.reshape(place, "negate"))
                    session.apply(moves.reshape(place, "split"))
                    one, two = separate(session, place, 1, top, moves=padding_first)
                    kept = two if padding_first else one
                    _positive(session, (*kept, *place[len(top) :]))
                    session.apply(Erase(one, distance) if padding_first else Erase(two, distance - 1))
                return
            except TacticFailed as problem:
                why = better(why, problem, wanted, behind[: distance - 1])
    raise why


def _positive(session: Session, path: Path) -> None:
    """``if not (a and b)`` ⟶ ``if not a or not b``, simplified."""
    branch = session.stmt(path)
    if not isinstance(branch, If):
        return
    ranges, facts = known_at(session, path)
    new = Simplifier(Bounds(ranges, facts.facts)).expr(negate(negate(branch.condition)))
    if new is not branch.condition:
        session.attempt(rewritten(path, (0,), new))
