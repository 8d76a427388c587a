"""merge_adjacent_loops: neighbouring nests become one, as deep as they agree; and statements moved next to each other
(RFC 77, "Utility - Merge Adjacent Loops").

Two loops may be merged if they have the same range and, for every i later than j,

1. what the first loop writes in iteration i, the second does not touch in iteration j;
2. what the first loop reads in iteration i, the second does not write in iteration j.

Labels around the nests go inside, around what they named.  One around several statements of which some are merged
deeper has nothing left that it could stand around, and goes; so does one around a loop that does nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from verified_tir.index.evaluate import NotEvaluable, UnsafeIndex, evaluate
from verified_tir.ir.expr import Load, Var
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Assert, Block, For, Seq, Stmt, Store, While
from verified_tir.ir.visit import free_vars, nodes_of, walk
from verified_tir.kernel.effects import opaque_calls
from verified_tir.kernel.obligation import Unproved
from verified_tir.kernel.rules.rewrite import expressions
from verified_tir.logic.called import called
from verified_tir.logic.verdict import Refuted
from verified_tir.schedule import codes, moves
from verified_tir.schedule.footprint import footprint_of
from verified_tir.schedule.rule_builders import labelled, unwrapped
from verified_tir.schedule.session import Handle, Session, TacticFailed, fail, with_hint

COMBINATIONS = 64
"""How many values of inner loops are looked at for the element in which two iterations meet."""

Labels = tuple[Block, ...]


def merge_adjacent_loops(session: Session, handles: Sequence[Handle]) -> list[Var]:
    """Merge the given loops, one after the other, or all adjacent ones that may be; with the loops inside them.

    Gives the merged loops in program order.
    """
    if len(handles) == 1:
        raise fail("merge_adjacent_loops takes two loops or more, or none for all", code=codes.WRONG_ARGUMENT)
    merged = _given(session, handles) if handles else _all(session)
    return [s.var for _, s in session.find(For, lambda s: s.var in merged)]


def _given(session: Session, handles: Sequence[Handle]) -> set[Var]:
    found = [session.loop(h)[1] for h in handles]
    if len(set(found)) != len(found):
        raise fail("a loop is named twice", code=codes.WRONG_ARGUMENT)
    merged: set[Var] = set()
    for second in found[1:]:
        one, two = slot(session, session.loop(found[0].var)[0]), slot(session, session.loop(second.var)[0])
        where, position = _side_by_side(session, one, two, (found[0].var.name, second.var.name))
        merged |= _merge_at(session, where, position)
    return merged


def _all(session: Session) -> set[Var]:
    """All adjacent loops that may be merged, from the first on; what has been refused is not tried again."""
    merged: set[Var] = set()
    refused: set[tuple[Stmt, Stmt]] = set()
    problem: TacticFailed | None = None
    while True:
        pair = next((p for p in _pairs(session) if p[2] not in refused), None)
        if pair is None:
            break
        where, position, stmts = pair
        try:
            with session.atomic():
                merged |= _merge_at(session, where, position)
        except TacticFailed as reason:
            problem = problem or reason
            refused.add(stmts)
    if not merged:
        raise problem or fail(
            "no two loops are adjacent; a statement between them can be moved with move_before",
            code=codes.NOTHING_TO_CHANGE,
        )
    return merged


def _pairs(session: Session) -> Iterator[tuple[Path, int, tuple[Stmt, Stmt]]]:
    """Adjacent loops, labels around them aside."""
    for where, stmt in session.find(Seq):
        for k, (a, b) in enumerate(itertools.pairwise(stmt.stmts)):
            if isinstance(_inside(a), For) and isinstance(_inside(b), For):
                yield where, k, (a, b)


def _inside(stmt: Stmt) -> Stmt:
    """What stands under labels."""
    while isinstance(stmt, Block) and stmt.is_label:
        stmt = stmt.body
    return stmt


# -- merging -----------------------------------------------------------------------------------------------------------


def _merge_at(
    session: Session, where: Path, position: int, outer: tuple[Labels, Labels] = ((), ()), levels: int | None = None
) -> set[Var]:
    """Merge the loops at ``position`` of a sequence and after it, and those inside; gives the merged loops.

    :param outer: labels that stood around the two further out, and are still to be put around their parts.
    :param levels: how many loops deep; as deep as they agree unless given.
    """
    place = (*where, position)
    labels = tuple(own + _unwrap(session, (*where, position + k)) for k, own in enumerate(outer))
    first, second = session.stmt(place), session.stmt((*where, position + 1))
    for s in (first, second):
        if not isinstance(s, For):
            raise fail("beside the loop stands something other than a loop", place, code=codes.NOT_PERFECTLY_NESTED)
    assert isinstance(first, For) and isinstance(second, For)
    counts = [len(s.body.stmts) if isinstance(s.body, Seq) else 1 for s in (first, second)]
    try:
        session.apply(moves.fuse(where, position))
    except TacticFailed as refused:
        raise _explained(session, refused, first, second) from None
    session.renamed[second.var] = first.var
    place = where if isinstance(session.stmt(where), For) else place
    loop = session.at(place, For)
    inside, boundary = (*place, 0), counts[0] - 1
    merged = {loop.var}
    if levels != 1 if levels is not None else all(counts) and _over_loops(session, inside, boundary):
        alone = (labels[0] if counts[0] == 1 else (), labels[1] if counts[1] == 1 else ())
        try:
            with session.atomic():
                further = None if levels is None else levels - 1
                return merged | _merge_at(session, inside, boundary, alone, further)
        except TacticFailed:
            if levels is not None:
                raise
            # as deep as they agree
    for start, count, names in ((counts[0], counts[1], labels[1]), (0, counts[0], labels[0])):
        if count == 0:
            continue
        around = (*inside, start) if isinstance(session.stmt(inside), Seq) else inside
        for k, label in enumerate(reversed(names)):
            session.apply(labelled(around, label.name, count if k == 0 else 1))
    return merged


def _over_loops(session: Session, inside: Path, boundary: int) -> bool:
    """Whether two neighbours in a sequence are loops, labels around them aside."""
    return all(isinstance(_inside(session.stmt((*inside, boundary + k))), For) for k in (0, 1))


def merge_nests(session: Session, handles: Sequence[Handle]) -> Var:
    """Merge given loops and those around them, up to the sequence in which their nests stand side by side; gives the
    merged loop (TVM's ``merge``).

    The nests must be as deep, and each loop the only statement in the one around it.
    """
    if len(handles) < 2:
        raise fail("merge takes at least two loops", code=codes.WRONG_ARGUMENT)
    found = [session.loop(h)[1] for h in handles]
    if len(set(found)) != len(found):
        raise fail("a loop is named twice", code=codes.WRONG_ARGUMENT)
    for second in found[1:]:
        one, two = session.loop(found[0].var)[0], session.loop(second.var)[0]
        names = (found[0].var.name, second.var.name)
        depth = session.parting(one, two)
        if depth is None:
            raise fail(
                f"the loops over {names[0]} and {names[1]} do not stand in nests side by side",
                one,
                code=codes.STANDS_ELSEWHERE,
            )
        levels = [_only_children(session, path, depth + 1) for path in (one, two)]
        if levels[0] != levels[1]:
            raise fail(
                f"the loop over {names[0]} is number {levels[0]} of its nest, that over {names[1]} number {levels[1]}",
                two,
                code=codes.STANDS_ELSEWHERE,
            )
        where, position = _side_by_side(session, one[: depth + 1], two[: depth + 1], names)
        _merge_at(session, where, position, levels=levels[0])
    return session.current(found[0].var)


def _only_children(session: Session, path: Path, start: int) -> int:
    """The number of loops from ``start`` steps deep to a loop, which hold nothing but the next one, labels aside.

    :raises TacticFailed: if one of them holds something else.
    """
    count = 0
    for k in range(start, len(path) + 1):
        match session.stmt(path[:k]):
            case For():
                count += 1
            case Block(is_label=True):
                pass
            case Seq():
                raise fail(f"the loop over {session.at(path, For).var.name} is not the only statement of the loop "
                           "around it: fission that one first, or merge the loops with merge_adjacent_loops",
                           path[:k], code=codes.NOT_PERFECTLY_NESTED)  # fmt: skip
            case _:
                raise fail(
                    "between the loops of a nest stands something other than loops",
                    path[:k],
                    code=codes.NOT_PERFECTLY_NESTED,
                )
    return count


def _unwrap(session: Session, path: Path) -> Labels:
    """Take the labels off a loop; gives them, outermost first."""
    found: list[Block] = []
    if not isinstance(_inside(session.stmt(path)), For):
        return ()
    while isinstance(label := session.stmt(path), Block):
        found.append(label)
        session.apply(unwrapped(path))
    return tuple(found)


def _explained(session: Session, failed: TacticFailed, first: For, second: For) -> TacticFailed:
    """A refusal that says which of the two conditions fails, and in which element the iterations meet."""
    refusal = failed.refusal
    if not (isinstance(refusal, Unproved) and refusal.obligation.name == "dependence"):
        return failed
    if any(opaque_calls(s) or nodes_of(s, Assert) or nodes_of(s, While) for s in (first, second)):
        return failed  # these stay in their places, whatever they access
    late = _accesses(session.stmt(refusal.obligation.place))
    early = [n for n in walk(second.body) if isinstance(n, (Load, Store))]
    pairs = [(a, b) for a in late for b in early if _conflict(a, b)]
    if not pairs:
        return failed
    pair, where = _meeting(refusal, first, second, pairs)
    writes = isinstance(pair[0], Store)
    if not where:
        one = footprint_of(first.body, pair[0].buffer, reads=not writes, writes=writes)
        two = footprint_of(second.body, pair[0].buffer, reads=writes)
        verbs = ("writes", "touches") if writes else ("reads", "writes")
        where = f"but the first {verbs[0]} {one}, the second {verbs[1]} {two}"
    if writes:
        why = "condition 1: what the first loop writes, the second does not touch in an earlier iteration"
    else:
        why = "condition 2: what the first loop reads, the second does not write in an earlier iteration"
    return with_hint(failed, f"{why}; {where}")


Access: TypeAlias = Load | Store


def _accesses(stmt: Stmt) -> list[Access]:
    """The accesses that a statement makes itself."""
    loads: list[Access] = [n for e in expressions(stmt) for n in nodes_of(e, Load)]
    return [*loads, stmt] if isinstance(stmt, Store) else loads


def _conflict(a: Access, b: Access) -> bool:
    return a.buffer.data is b.buffer.data and (isinstance(a, Store) or isinstance(b, Store))


def _meeting(
    refusal: Unproved, first: For, second: For, pairs: Sequence[tuple[Access, Access]]
) -> tuple[tuple[Access, Access], str]:
    """Of some accesses two that meet in one element in a later iteration of the first loop and an earlier one of the
    second, and that element as text; two of which that is not known, if none are seen to meet."""
    verdict, names = refusal.verdict, called(refusal.obligation, refusal.would_be)
    values: dict[str, list[int]] = {}
    for name, value in verdict.model.values.items() if isinstance(verdict, Refuted) else ():
        if name in names:
            values.setdefault(names[name], []).append(value)
    # the loop that both become is called as the first one is
    i, j = values.get(first.var.name, []), values.get(f"{first.var.name}'", [])
    if len(i) != 1 or len(j) != 1:
        return pairs[0], ""
    unknown: list[tuple[Access, Access]] = []
    for a, b in pairs:
        late, early = _elements(a, first.var, i[0], values), _elements(b, second.var, j[0], values)
        meet = [e for e in late if e in early] if a.buffer is b.buffer else []
        if meet:
            element = f"{a.buffer.name}[{', '.join(map(str, meet[0]))}]"
            return (a, b), f"but both touch {element} where {first.var.name} = {i[0]} and {second.var.name}' = {j[0]}"
        if a.buffer is not b.buffer or not (late and early):
            unknown.append((a, b))
    return (unknown or pairs)[0], ""


def _elements(access: Access, var: Var, value: int, values: Mapping[str, list[int]]) -> list[tuple[int, ...]]:
    """Elements of an access in an iteration, for the values that a counterexample gives to other variables; none if
    these do not say."""
    others = [v for v in dict.fromkeys(v for e in access.indices for v in free_vars(e)) if v is not var]
    choices = [values.get(v.name, []) + values.get(f"{v.name}'", []) for v in others]
    found: list[tuple[int, ...]] = []
    for choice in itertools.islice(itertools.product(*choices), COMBINATIONS):
        try:
            element = evaluate(access.indices, {var: value, **dict(zip(others, choice, strict=True))})
        except (NotEvaluable, UnsafeIndex):
            continue
        found.append(tuple(map(int, element)))
    return found


# -- moving ------------------------------------------------------------------------------------------------------------


def slot(session: Session, path: Path) -> Path:
    """The place of a statement together with the labels that stand around it alone."""
    while path and isinstance(around := session.stmt(path[:-1]), Block) and around.is_label:
        path = path[:-1]
    return path


def move(session: Session, what: Handle, target: Handle, *, after: bool) -> None:
    """Move a statement before (or after) another of the same sequence, past all that stands between.

    Both are given by a block or a loop; what moves is the statement of the sequence that holds it.
    """
    one, two = session.place(what), session.place(target)
    depth = next((k for k, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), None)
    if depth is None:
        raise fail("a statement cannot be moved next to itself or to one inside it", one, code=codes.WRONG_ARGUMENT)
    where = one[:depth]
    if not isinstance(session.stmt(where), Seq):
        raise fail("the two stand in different branches", where, code=codes.STANDS_ELSEWHERE)
    here, there = one[depth], two[depth]
    goal = there + after if here > there else there - (not after)
    _shift(session, where, here, goal)


def _shift(session: Session, where: Path, here: int, goal: int) -> None:
    """Exchange a statement of a sequence with its neighbours until it is at its new position."""
    while here != goal:
        step = 1 if here < goal else -1
        session.apply(moves.swap(where, min(here, here + step)))
        here += step


def _side_by_side(session: Session, one: Path, two: Path, names: tuple[str, str]) -> tuple[Path, int]:
    """Bring two statements of one sequence together: the second behind the first, or else the first before the second.

    Gives the sequence and the position of the first.
    """
    where = one[:-1]
    if not one or where != two[:-1] or not isinstance(session.stmt(where), Seq):
        raise fail(
            f"the loops over {names[0]} and {names[1]} do not stand in one sequence of statements",
            one,
            code=codes.STANDS_ELSEWHERE,
        )
    here, there = one[-1], two[-1]
    if there < here:
        raise fail(f"the loop over {names[1]} comes before the loop over {names[0]}", two, code=codes.STANDS_ELSEWHERE)
    try:
        with session.atomic():
            _shift(session, where, there, here + 1)
        return where, here
    except TacticFailed as refused:
        with session.atomic():
            try:
                _shift(session, where, here, there - 1)
            except TacticFailed:
                raise refused from None
        return where, there - 1
