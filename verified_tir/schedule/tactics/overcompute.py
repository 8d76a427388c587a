"""Overcompute instead of branching (RFC 77, "New Primitive - Remove Branching Through Overcompute").

    if c: S                    ⟶    S       where S does no harm if c is false:
                                             it writes what is there already, or what a later statement overwrites
    if c: S else: T            ⟶    S       where T becomes S under the facts there; or T, where S becomes T
    if c and d: S              ⟶    if c: S

The kernel is asked to put a copy of S where the condition is false (``insert``), and then to merge the equal branches.
What is overwritten by a later statement beside a loop around the branch cannot stand in the else branch by itself: the
whole nest is inserted again, for the places where the condition is false, between the nest and that statement; then the
two nests become one (``dependence``), and the two guards, of opposite conditions, an ``if`` with ``else``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from verified_tir.index.bounds import Bounds, Ranges
from verified_tir.index.conditions import conjuncts, negate
from verified_tir.index.fold import size
from verified_tir.index.simplify import Simplifier
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.expr import Expr, Load, Var
from verified_tir.ir.paths import Path
from verified_tir.ir.poly import counted_in
from verified_tir.ir.stmt import SKIP, Block, For, If, Seq, Stmt, Store
from verified_tir.ir.sugar import all_of
from verified_tir.ir.visit import map_children, sub_statements
from verified_tir.kernel.effects import EVERYTHING, read_blocks, written_blocks
from verified_tir.kernel.obligation import Unproved
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.rewrite import expressions
from verified_tir.schedule import codes, moves
from verified_tir.schedule.edits import rewritten
from verified_tir.schedule.rule_builders import annotated, labelled, unwrapped, with_else
from verified_tir.schedule.session import Session, TacticFailed, fail
from verified_tir.schedule.tactics.arms import make_equal
from verified_tir.schedule.tactics.conditionals import merge_pair
from verified_tir.schedule.tactics.known import Known
from verified_tir.schedule.tactics.no_op import FARTHEST
from verified_tir.schedule.tactics.simplify import inside, known_at

SWEEPS = 3
"""How often branches are tried again after others went."""


def remove_branching_through_overcompute(session: Session, under: Path = (), *, wrap_indices: bool = False) -> int:
    """Remove every ``if`` at or below a place whose body may as well run always; gives how many conditions went.

    Where that fails for ``c₁ and c₂``, it is tried for each of the two.  Later branches go first: while an earlier one
    is guarded, what it would fill is still undefined.  But a later one may also need what an earlier one fills, so
    there are several sweeps.

    :param wrap_indices: an index that would leave its range where the condition is false is taken modulo the extent.
    :raises TacticFailed: if there is a branch and none can be removed; with the reason for the first.
    """
    problems: list[TacticFailed] = []

    def overcompute(path: Path, stmt: If) -> int:
        try:
            with session.atomic():
                _run_always(session, path, wrap_indices)
            return len(conjuncts(stmt.condition))
        except TacticFailed as problem:
            problems.append(problem)
        return int(any(_without(session, path, stmt, k, wrap_indices) for k in range(len(conjuncts(stmt.condition)))))

    removed = session.each(If, overcompute, under=under, last_first=True)
    if removed == 0:
        raise problems[-1] if problems else fail("there is no branch to remove", under, code=codes.NOTHING_TO_CHANGE)
    for _ in range(SWEEPS - 1):
        more = session.each(If, overcompute, under=under, last_first=True)
        removed += more
        if not more:
            break
    return removed


def _run_always(session: Session, path: Path, wrap_indices: bool) -> None:
    """Replace the branch at ``path`` by its body.

    :raises TacticFailed: if no way is found; with what is against the first.
    """
    stmt = session.at(path, If)
    if stmt.else_body is SKIP:
        session.apply(moves.reshape(path, "trim"))
    elif stmt.else_body is not None:
        if not structural_equal(stmt.then_body, stmt.else_body):
            make_equal(session, path)
        session.apply(moves.merge(path))
        return
    try:
        with session.atomic():
            session.apply(with_else(path), Insert((*path, 1), stmt.then_body))
            session.apply(moves.merge(path))
        return
    except TacticFailed as problem:
        why = problem
    try:
        _overwritten_later(session, path, why)
    except TacticFailed:
        unsafe = isinstance(why.refusal, Unproved) and why.refusal.obligation.name == "safety"
        if not (wrap_indices and unsafe and _wrapped(session, path)):
            raise
        _run_always(session, path, wrap_indices=False)


def _without(session: Session, path: Path, stmt: If, k: int, wrap_indices: bool) -> bool:
    """Try to remove the k-th of several conditions: it is put last, into an ``if`` of its own."""
    parts = conjuncts(stmt.condition)
    if len(parts) == 1 or stmt.else_body is not None:
        return False
    others = [c for j, c in enumerate(parts) if j != k]
    try:
        with session.atomic(), session.hastily():
            if k < len(others) or all_of([*others, parts[k]]) is not stmt.condition:
                session.apply(rewritten(path, (0,), all_of([*others, parts[k]])))
            session.apply(moves.reshape(path, "nest"))
            _run_always(session, (*path, 0), wrap_indices)
    except TacticFailed:
        return False
    return True


# ----------------------------------------------------------------------------------------- overwritten by what follows


def _overwritten_later(session: Session, path: Path, why: TacticFailed) -> None:
    """Run the body always, because a statement after the branch or after a loop around it overwrites what it writes.

    :raises TacticFailed: if none does; with what is against the nearest that writes there, or else ``why``.
    """
    branch = session.at(path, If)
    wanted = written_blocks(branch.then_body)
    if EVERYTHING in wanted:
        raise why
    for depth in range(len(path) - 1, -1, -1):
        around = session.stmt(path[:depth])
        if not isinstance(around, Seq):
            continue
        nest, way = path[: depth + 1], path[depth + 1 :]
        copy = _only(session.stmt(nest), way)
        if copy is None:
            raise why
        for distance, later in enumerate(around.stmts[path[depth] + 1 :][:FARTHEST], start=1):
            if wanted & written_blocks(later):
                try:
                    with session.atomic():
                        session.apply(Insert(nest, copy, "after", overwritten_by=distance))
                        place, below = _merged(session, nest, way)
                        session.apply(moves.merge((*place, *below)))
                    return
                except TacticFailed as problem:
                    why = better(why, problem, wanted, around.stmts[path[depth] + 1 :][:distance])
    raise why


def better(one: TacticFailed, other: TacticFailed, wanted: set[Var], later: Sequence[Stmt]) -> TacticFailed:
    """The more telling of two reasons why some blocks are not overwritten by ``later`` statements: that these read them
    before."""
    found = [f.refusal.obligation.name if isinstance(f.refusal, Unproved) else "" for f in (one, other)]
    return other if found[0] != "dead-store" == found[1] and wanted & read_blocks(*later) else one


def _only(stmt: Stmt, way: Path) -> Stmt | None:
    """The loops and guards on the way to a branch, around its body where its condition is false; ``None`` if something
    else stands on the way."""
    if not way:
        assert isinstance(stmt, If)
        return If(negate(stmt.condition), stmt.then_body)
    match stmt:
        case For(var=var, min=low, extent=extent, body=body, kind=kind, thread=thread, annotations=annotations):
            inner = _only(body, way[1:])
            return None if inner is None else For(var, low, extent, inner, kind, thread, annotations)
        case If(condition=c, then_body=body, else_body=None):
            inner = _only(body, way[1:])
            return None if inner is None else If(c, inner)
        case Block(is_label=True, body=body):
            return _only(body, way[1:])
        case Seq(stmts=stmts):
            return _only(stmts[way[0]], way[1:])
    return None


def _merged(session: Session, nest: Path, way: Path) -> tuple[Path, Path]:
    """Merge the statement after the one at ``nest``, which :func:`_only` made for ``way``, into it.

    Gives where the whole stands then, and the way from there to the branch that the two branches have become.
    """
    here = session.stmt(nest)
    if not way:
        place = _place_of_both(session, nest)
        if not merge_pair(session, nest[:-1], nest[-1]):
            raise fail("the two branches cannot become one", nest, code=codes.NOT_OF_THIS_FORM)
        return place, ()
    match here:
        case Block(is_label=True, name=name, body=body, annotations=annotations):
            count = len(body.stmts) if isinstance(body, Seq) else 1
            session.apply(unwrapped(nest))
            place, below = _merged_below(session, nest[:-1], nest[-1], body, way)
            if count > 1:
                alone = len(session.at(nest[:-1], Seq).stmts) == count
                session.apply(labelled(nest, name, count))
                below = (place[-1] - nest[-1], *below)
                place = nest[:-1] if alone else nest
            else:
                session.apply(labelled(place, name))
            if annotations:
                session.apply(annotated(place, annotations))
            return place, (0, *below)
        case For(body=body):
            place = _place_of_both(session, nest)
            session.apply(moves.fuse(nest[:-1], nest[-1]))
        case If(then_body=body, else_body=None):
            place = _place_of_both(session, nest)
            if not merge_pair(session, nest[:-1], nest[-1]):
                raise fail("the guards around the branch cannot become one", nest, code=codes.NOT_OF_THIS_FORM)
        case _:
            raise fail(
                "something other than loops and guards stands around the branch", nest, code=codes.NOT_PERFECTLY_NESTED
            )
    inner, below = _merged_below(session, (*place, 0), 0, body, way)
    return place, (*inner[len(place) :], *below)


def _merged_below(session: Session, where: Path, start: int, body: Stmt, way: Path) -> tuple[Path, Path]:
    """The same for what was the ``body`` of a statement, and stands in the sequence at ``where`` from ``start`` on now,
    what is to be merged into it behind."""
    if not isinstance(body, Seq):
        return _merged(session, (*where, start), way[1:])
    target = start + way[1]
    for k in range(start + len(body.stmts) - 1, target, -1):
        session.apply(moves.swap(where, k))
    return _merged(session, (*where, target), way[2:])


def _place_of_both(session: Session, first: Path) -> Path:
    """Where a statement and the next one stand when they are one."""
    return first[:-1] if len(session.at(first[:-1], Seq).stmts) == 2 else first


# ------------------------------------------------------------------------------------------------------ wrapped indices


def _wrapped(session: Session, path: Path) -> bool:
    """Take the indices that may leave their ranges if the condition of a branch is false modulo the extents: where it
    is true, they are what they were.  Tells whether there are any."""
    found = list(_wrapping(session.at(path, If).then_body, (*path, 0), *known_at(session, path)))
    for where, k, new in found:
        session.apply(rewritten(where, (k,), new))
    return bool(found)


def _wrapping(stmt: Stmt, path: Path, ranges: Ranges, known: Known) -> Iterator[tuple[Path, int, Expr]]:
    """The expressions of a statement in which an index may leave its range, with the index taken modulo the extent."""
    simplifier = Simplifier(Bounds(ranges, known.facts))

    def wrapped(index: Expr, extent: Expr) -> Expr:
        index = loads_wrapped(index)
        t = max(index.dtype.scalar, extent.dtype, key=lambda t: t.bits)
        within = counted_in(index, t.with_lanes(index.dtype.lanes)) % counted_in(extent, t)
        within = counted_in(within, index.dtype)
        return index if size(simplifier.expr(within)) <= size(simplifier.expr(index)) else within

    def loads_wrapped(e: Expr) -> Expr:
        if isinstance(e, Load) and e.dtype.lanes == 1:
            indices = tuple(wrapped(i, n) for i, n in zip(e.indices, e.buffer.shape, strict=True))
            return e if indices == e.indices else Load(e.buffer, indices)
        return map_children(e, lambda n: loads_wrapped(n) if isinstance(n, Expr) and not isinstance(n, Var) else n)

    for k, e in enumerate(expressions(stmt)):
        is_index = isinstance(stmt, Store) and 0 < k <= len(stmt.indices)
        new = wrapped(e, stmt.buffer.shape[k - 1]) if is_index else loads_wrapped(e)  # type: ignore[attr-defined]
        if new is not e:
            yield path, k, new
    for k, sub in enumerate(sub_statements(stmt)):
        yield from _wrapping(sub, (*path, k), *inside(stmt, k, ranges, known))
