"""The loops around one access of a buffer, and taking out what stands in their way.

Input: a statement that reads or writes a buffer.  The loops that its indices use need not be nested perfectly: an
initialisation may stand between two of them, so the nest is a list of perfect *segments*, outermost first.  Output: the
segments, or a program in which what stood between two of them has a nest of its own (:func:`isolate`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, LetExpr, Load, Ramp, Var
from verified_tir.ir.node import Node
from verified_tir.ir.paths import Path, places
from verified_tir.ir.poly import Poly, as_poly
from verified_tir.ir.script import script
from verified_tir.ir.stmt import Allocate, Block, For, If, LetStmt, Seq, Stmt, Store
from verified_tir.ir.visit import children, free_vars, nodes_of, sub_statements, substitute
from verified_tir.kernel.rules.bind import Inline
from verified_tir.kernel.rules.rewrite import expressions
from verified_tir.schedule import codes
from verified_tir.schedule.rule_builders import split_label
from verified_tir.schedule.session import Session, fail
from verified_tir.schedule.tactics.fission import separate
from verified_tir.schedule.tactics.loops import pair_at

# -- accesses ----------------------------------------------------------------------------------------------------------


def uses(stmt: Stmt, buffer: Buffer) -> bool:
    """Whether the statement itself (not one inside it) accesses the buffer."""
    if isinstance(stmt, Store) and stmt.buffer is buffer:
        return True
    return any(n.buffer is buffer for e in expressions(stmt) for n in nodes_of(e, Load))


def leaves(session: Session) -> list[Path]:
    """The places of the statements that hold no other, in program order.  Fission and reindexing keep their order."""
    return [p for p, _ in places(session.func.body, lambda s: not sub_statements(s))]


def leaf_of(session: Session, path: Path) -> tuple[int, int]:
    """The number of the first leaf at or below a place, and how far below."""
    return next((k, len(p) - len(path)) for k, p in enumerate(leaves(session)) if p[: len(path)] == path)


def indices_of(session: Session, path: Path, buffer: Buffer) -> tuple[Expr, ...]:
    """The indices of the access in the statement at ``path``, lets written out: of the store, else of the first load
    whose indices are not read from memory.

    :raises TacticFailed: if all are read from memory.
    """
    stmt = session.stmt(path)
    values: dict[Var, Expr] = {}
    for k in range(len(path)):
        around = session.stmt(path[:k])
        if isinstance(around, LetStmt):
            values[around.var] = substitute(around.value, values)
    if isinstance(stmt, Store) and stmt.buffer is buffer:
        found = [tuple(substitute(e, values) for e in stmt.indices)]
    else:
        found = [i for e in expressions(stmt) for i in _loads(e, buffer, values)]
    for indices in found:
        if not any(nodes_of(e, Load) for e in indices):
            return tuple(_first_lane(e) for e in indices)
    raise fail(
        f"the indices of {buffer.name} are read from memory, so no loops follow its layout",
        path,
        code=codes.NOT_OF_THIS_FORM,
    )


def _loads(e: Node, buffer: Buffer, values: dict[Var, Expr]) -> Iterator[tuple[Expr, ...]]:
    """Indices of the loads of a buffer, lets written out."""
    if isinstance(e, LetExpr):
        values = {**values, e.var: substitute(e.value, values)}
    if isinstance(e, Load) and e.buffer is buffer:
        yield tuple(substitute(i, values) for i in e.indices)
    for child in children(e):
        if isinstance(child, Expr):
            yield from _loads(child, buffer, values)


def _first_lane(e: Expr) -> Expr:
    """Of a vector of neighbours, the number of the vector."""
    return e.base // e.lanes if isinstance(e, Ramp) else e


# -- nests -------------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True)
class Segment:
    """A perfect part of a nest: its place, and its loops, guards, labels and lets from there on."""

    start: Path
    chain: tuple[Stmt, ...]

    @staticmethod
    def between(session: Session, start: Path, end: Path) -> Segment:
        """The segment from the statement at ``start`` to that at ``end``."""
        return Segment(start, tuple(session.stmt(end[:k]) for k in range(len(start), len(end) + 1)))

    @property
    def loops(self) -> list[For]:
        return [s for s in self.chain if isinstance(s, For)]

    @property
    def end(self) -> Path:
        """The place of the innermost statement of the chain."""
        return (*self.start, *(0 for _ in self.chain[1:]))


@final
@dataclass(frozen=True, slots=True)
class Nest:
    """The loops around an access that its indices use, in perfect segments, outermost first."""

    path: Path
    indices: tuple[Expr, ...]
    written: tuple[Expr, ...]
    """The indices as they stand in the text, lets written out."""
    stored: frozenset[Var]
    """Variables in the indices of what is stored; the other loops are those of a reduction."""
    segments: tuple[Segment, ...]

    def loops(self, k: int) -> list[Var]:
        """The loops of a segment."""
        return [s.var for s in self.segments[k].loops]

    def moving(self, k: int) -> list[int]:
        """The dimensions that the loops of a segment move."""
        return [d for d, e in enumerate(self.indices) if set(self.loops(k)) & set(free_vars(e))]

    def ordered(self, k: int) -> bool:
        """Whether the loops of a segment run through these in order."""
        return in_order([self.indices[d] for d in self.moving(k)], self.segments[k].loops)

    def in_the_way(self, followed: set[Var]) -> tuple[int, Var] | None:
        """The innermost two segments that must become one: the number of the first, and the loop from which on.

        Inside may not be run through before outside, so: an index may not use loops of both, nor may one that uses
        outer loops come behind one that uses inner ones.  ``followed`` are loops that another access needs as they are.
        """
        used = [set(free_vars(e)) for e in self.indices]
        for k in reversed(range(len(self.segments) - 1)):
            outer = [v for j in range(k + 1) for v in self.loops(j)]
            inner = set().union(*(set(self.loops(j)) for j in range(k + 1, len(self.segments))))
            first = next((d for d, u in enumerate(used) if u & inner), len(used))
            between = [v for v in outer if any(v in u for u in used[first:])]
            if between:
                return k, between[0]
        last = len(self.segments) - 1
        return next(((last, v) for k in range(last + 1) for v in self.shared(k, followed)), None)

    def shared(self, k: int, followed: set[Var]) -> list[Var]:
        """Loops of a segment that would be rebuilt, though another access needs them as they are."""
        return [] if self.ordered(k) else [v for v in self.loops(k) if v in followed]


def in_order(indices: list[Expr], loops: list[For]) -> bool:
    """Whether the loops run through the indices in order.

    From the first index on, each takes the next loops, as digits of a number (``i``, ``4*i_0 + i_1``, with gaps
    ``8*i_0 + i_1``); loops that an earlier index has taken stand still meanwhile.
    """
    used = [s for s in loops if any(s.var in free_vars(e) for e in indices)]
    for e in indices:
        rest, span = as_poly(e), Poly.of(0)
        here = set(free_vars(e))
        count = next((k for k, s in enumerate(used) if s.var not in here), len(used))
        digits, used = used[:count], used[count:]
        for s in reversed(digits):
            found = rest.coefficient(s.var)
            if found is None or not _at_least(found[0] - span - 1):
                return False
            span, rest = span + found[0] * (as_poly(s.extent) - 1), found[1]
        if any(s.var in free_vars(a) for s in (*digits, *used) for a in rest.atoms()):
            return False
    return not used


def _at_least(gap: Poly) -> bool:
    return gap.is_zero or (gap.constant is not None and gap.constant >= 0)


def nest_around(session: Session, path: Path, buffer: Buffer) -> Nest | None:
    """The nest of the loops that the access in the statement at ``path`` uses; ``None`` if it uses none."""
    stmt = session.stmt(path)
    indices = indices_of(session, path, buffer)
    used = {v for e in indices for v in free_vars(e)}
    depths = [k for k in range(len(path)) if _is_over(session.stmt(path[:k]), used)]
    if not depths:
        return None
    segments: list[Segment] = []
    for k in depths:
        if segments and _perfect(session, segments[-1].end, path[:k]):
            start = segments.pop().start
        else:
            start = path[:k]
        segments.append(Segment.between(session, start, path[:k]))
    last = segments[-1]
    chain = _with_guards(session, last, path)
    segments[-1] = Segment(last.start, chain)
    stored = frozenset(v for e in stmt.indices for v in free_vars(e)) if isinstance(stmt, Store) else frozenset()
    return Nest(path, indices, indices, stored, tuple(segments))


def _is_over(stmt: Stmt, used: set[Var]) -> bool:
    return isinstance(stmt, For) and stmt.var in used


def _perfect(session: Session, start: Path, end: Path) -> bool:
    """Whether nothing stands beside the loops between two places."""
    return all(is_link(session.stmt(end[:k])) for k in range(len(start), len(end)))


def is_link(stmt: Stmt) -> bool:
    """Whether a statement may stand within a perfect nest: a loop, a guard, a label or a let."""
    match stmt:
        case For() | LetStmt() | If(else_body=None):
            return True
        case Block():
            return stmt.is_label
    return False


def _with_guards(session: Session, segment: Segment, path: Path) -> tuple[Stmt, ...]:
    """The chain as far as the last guard below it that speaks of its loops and reads no memory."""
    chain = list(segment.chain)
    own = {s.var for s in segment.loops}
    values: dict[Var, Expr] = {}
    last, place = len(chain), segment.end
    while is_link(chain[-1]) and len(place) < len(path):
        place = (*place, 0)
        stmt = session.stmt(place)
        if isinstance(stmt, For) or not is_link(stmt) or place != path[: len(place)]:
            break
        chain.append(stmt)
        if isinstance(stmt, LetStmt):
            values[stmt.var] = substitute(stmt.value, values)
        elif isinstance(stmt, If):
            condition = substitute(stmt.condition, values)
            if nodes_of(condition, Load):
                break
            last = len(chain) if own & set(free_vars(condition)) else last
    return tuple(chain[:last])


# -- taking out --------------------------------------------------------------------------------------------------------


def inline_lets(session: Session, start: Path, end: Path) -> Path:
    """Write out the lets between two places; gives where ``end`` is then."""
    number, below = leaf_of(session, end)
    k = len(start)
    while k < len(end):
        if isinstance(session.stmt(end[:k]), LetStmt):
            session.apply(Inline(end[:k]))
            leaf = leaves(session)[number]  # a sequence in a let that stands in one becomes part of it
            end = leaf[: len(leaf) - below]
        else:
            k += 1
    return end


def isolate(session: Session, nest: Nest, between: int, loop: Var) -> Path:
    """Take out of the loops from ``loop`` on all that stands between two segments; gives the access's new place.

    What stood before a label's nest gets a label of its own, ``init_<label>``.
    """
    path = nest.path
    top, _ = session.loop(loop)
    number, below = leaf_of(session, path)
    path = inline_lets(session, top, path)
    after = len(path) - len(nest.segments[between + 1].start if between + 1 < len(nest.segments) else path)
    while True:
        depths = [k for k in range(len(top) + 1, len(path) - after + 1) if not is_link(session.stmt(path[:k]))]
        depths = [k for k in depths if k < len(path)]
        if not depths:
            return path
        k = depths[-1]
        stmt = session.stmt(path[:k])
        if not isinstance(stmt, Seq):
            raise fail(
                f"{_what(stmt)} stands between the loops that are to follow", path[:k], code=codes.NOT_PERFECTLY_NESTED
            )
        if path[k] + 1 < len(stmt.stmts):
            top, _ = separate(session, path[:k], path[k] + 1, top)
        else:
            before, top = separate(session, path[:k], path[k], top)
            top = _own_label(session, before, top)
        leaf = leaves(session)[number]
        path = leaf[: len(leaf) - below]


def _what(stmt: Stmt) -> str:
    match stmt:
        case Allocate(buffer=b):
            return f"the allocation of {b.name}"
        case If():
            return f"the branch with an else on {script(stmt.condition)}"
    return f"a statement of kind {type(stmt).__name__}"


def _own_label(session: Session, before: Path, top: Path) -> Path:
    """Give the part before its own label, if both stand alone under one; gives the second part's new place."""
    around = top[:-2]
    label = session.stmt(around) if len(top) > 1 else None
    if not (isinstance(label, Block) and label.is_label and before == (*around, 0, 0)):
        return top
    names = session.block_names()
    name = f"init_{label.name}"
    while name in names:
        name += "_"
    session.apply(split_label(around, 1, name))
    return (*pair_at(session, around)[1], *((0,) if len(label.body.stmts) == 2 else (0, 0)))  # type: ignore[attr-defined]
