"""reverse_compute_at: a consumer runs in the iterations of its producer's loop, each instance where its input is ready.

    for i: C[i] = A[i]                          for i_0, i_1: if 4*i_0 + i_1 < n: C[4*i_0 + i_1] = A[…]
    (split by 4)                      ⟶         becomes, per i_0:
    for x: D[x] = C[x] + C[x + 1]                   for x in range(4): if 1 <= 4*i_0 + x < n: D[4*i_0 + x - 1] = …

The chain of rules: what stands between the two changes places with one of them (``swap``); the consumer's nest gets the
producer's loops around it (``reindex``), an instance standing where the last element that it reads was stored; then the
loops are merged one by one, outermost first (``fuse``).  The kernel proves that every instance runs once, and that none
runs before something that it needs.

The iteration that stored an element is guessed from the region that one iteration stores.  Loops that do not move this
region (those of a reduction) must have ended: there an instance runs in the last iteration.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import final

from verified_tir.index.bounds import Bounds
from verified_tir.index.conditions import conjuncts
from verified_tir.index.simplify import Simplifier
from verified_tir.ir.expr import Binary, Expr, IntImm, Load, Var
from verified_tir.ir.find import loop_path
from verified_tir.ir.index_arith import is_index
from verified_tir.ir.paths import Path
from verified_tir.ir.poly import as_poly, counted_in, render
from verified_tir.ir.stmt import Allocate, Block, For, If, Seq, Stmt, Store
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import free_vars, nodes_of, sub_statements, substitute
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.scope import Move
from verified_tir.schedule import codes, moves
from verified_tir.schedule.moves import NewLoop
from verified_tir.schedule.rule_builders import moved
from verified_tir.schedule.session import Handle, Session, TacticFailed, fail
from verified_tir.schedule.tactics.branches import decide_branches
from verified_tir.schedule.tactics.narrow import narrow
from verified_tir.schedule.tactics.produced import Produced, iteration_of, produced_by
from verified_tir.schedule.tactics.regions import index_bounds
from verified_tir.schedule.tactics.simplify import remove_trivial_loops, simplify_expressions
from verified_tir.schedule.tactics.tidy import join_guards, remove_decided_loops


@final
@dataclass(frozen=True, slots=True)
class Nest:
    """The consumer: its place in the sequence, the loops, guards and labels around its body, and the body."""

    path: Path
    chain: tuple[Stmt, ...]
    body: Stmt

    @property
    def loops(self) -> list[For]:
        return [s for s in self.chain if isinstance(s, For)]


@final
@dataclass(frozen=True, slots=True)
class Renewed:
    """The consumer's nest under the producer's loops."""

    loops: tuple[NewLoop, ...]
    guards: tuple[Expr, ...]
    old_of_new: tuple[Expr, ...]
    new_of_old: tuple[Expr, ...]


def reverse_compute_at(session: Session, block: Handle, loop: Handle, *, unit_loops: bool = False) -> None:
    """Run a block, which reads what the nest around ``loop`` stores, at the end of the iterations of ``loop``.

    :param block: the block's name; or the outermost loop of its nest, with all that this holds.
    :param unit_loops: keep loops of one iteration.
    """
    where, target = session.loop(loop)
    shared = _shared(session, session.place(block), where, block, target)
    while _allocates_for_others(session, session.place(block), shared):
        _allocate_before(session, where, session.place(block), shared)
        where, _ = session.loop(target.var)
        shared = _shared(session, session.place(block), where, block, target)
    place = session.place(block)
    order = _brought_together(session, where[:shared], where[shared], place[shared])
    where = (*where[:shared], order, *where[shared + 1 :])
    nest = _nest(session, (*where[:shared], order + 1), block)
    around = session.loops_around((*where, 0), shared + 1)

    def moved(produced: Produced, element: tuple[Expr, ...]) -> None:
        _moved(session, nest, around, produced, element, unit_loops)
        if produced.buffer not in session.func.buffers and produced.buffer in session.buffers:
            narrow(session, produced.buffer, around[-1].var)

    nothing = fail(
        f"{called(block)} reads nothing that the loop over {target.var.name} stores", place, code=codes.NOT_USED_THERE
    )
    session.first_of((partial(moved, *found) for found in _inputs(session, nest, where, around)), nothing)


# -- places ------------------------------------------------------------------------------------------------------------


def called(block: Handle) -> str:
    """What a report calls a block, or the loop that stands for one."""
    return f"block {block}" if isinstance(block, str) else f"the loop over {block.name}"


def _shared(session: Session, place: Path, where: Path, block: Handle, target: For) -> int:
    """How many steps lead to the sequence in which producer and consumer stand."""
    if place[: len(where)] == where:
        raise fail(
            f"{called(block)} stands inside the loop over {target.var.name} already", place, code=codes.STANDS_ELSEWHERE
        )
    shared = session.parting(place, where)
    if shared is None:
        raise fail(
            f"{called(block)} and the loop stand in no two statements of one sequence",
            place,
            code=codes.STANDS_ELSEWHERE,
        )
    if place[shared] < where[shared]:
        raise fail(
            f"{called(block)} comes before the loop over {target.var.name}; it must come after it",
            place,
            code=codes.STANDS_ELSEWHERE,
        )
    return shared


def _allocates_for_others(session: Session, place: Path, shared: int) -> bool:
    """Whether what holds the consumer is an allocation with something beside the consumer, which stays where it is."""
    held = [session.stmt(place[:k]) for k in range(shared + 1, len(place) + 1)]
    inside = next((s for s in held if not isinstance(s, Allocate)), None)
    return isinstance(held[0], Allocate) and isinstance(inside, Seq)


def _allocate_before(session: Session, where: Path, place: Path, shared: int) -> None:
    """Let the allocation that holds the consumer hold the producer, too, and what stands between them."""
    first, last = where[: shared + 1], place[: shared + 1]
    body = session.at(last, Allocate).body
    inside = len(body.stmts) if isinstance(body, Seq) else 1
    session.apply(Move(last, first, last[-1] - first[-1] + inside))


def _brought_together(session: Session, sequence: Path, producer: int, consumer: int) -> int:
    """Let the consumer follow the producer directly; gives where the producer stands then.

    What stands between them goes behind the consumer, or else before the producer.
    """
    while consumer > producer + 1:
        try:
            session.apply(moves.swap(sequence, consumer - 1))
            consumer -= 1
        except TacticFailed:
            with session.atomic():
                for k in range(consumer - 2, producer - 1, -1):
                    session.apply(moves.swap(sequence, k))
            producer += 1
    return producer


def _nest(session: Session, path: Path, block: Handle) -> Nest:
    """The perfect nest at a place, down to the block or to something other than loops, guards and labels."""
    chain: list[Stmt] = []
    stmt = session.stmt(path)
    while True:
        match stmt:
            case Block(name=name) if name == block:
                return Nest(path, tuple(chain), stmt)
            case For(body=inside) | If(then_body=inside, else_body=None) | Block(is_label=True, body=inside):
                chain.append(stmt)
                stmt = inside
            case Allocate():  # what is computed for the block moves with it
                return Nest(path, tuple(chain), stmt)
            case _ if any(n.name == block for n in nodes_of(stmt, Block)):
                raise fail(
                    f"block {block} shares its loops with something else (fission it out first)",
                    path,
                    code=codes.NOT_PERFECTLY_NESTED,
                )
            case _:
                return Nest(path, tuple(chain), stmt)


# -- which iteration ---------------------------------------------------------------------------------------------------


def _inputs(
    session: Session, nest: Nest, where: Path, around: list[For]
) -> Iterator[tuple[Produced, tuple[Expr, ...]]]:
    """What one iteration stores of a buffer that the consumer reads, with an element that decides where an instance
    runs: the one with the greatest index in each dimension first.  An element that no iteration stores belongs to the
    iteration that stores the nearest one."""
    written = dict.fromkeys(n.buffer for n in nodes_of(session.stmt(where), Store))
    for buffer in written:
        loads = [n for n in nodes_of(nest.body, Load) if n.buffer is buffer]
        if not loads:
            continue
        produced = produced_by(session, where, around, buffer)
        elements = list(_corners(nest, loads, produced))
        yield from ((produced, e) for e in elements)
        known = Bounds({**session.ranges(nest.path), **{s.var: (s.min, s.extent) for s in nest.loops}})
        nearest = (produced.clamped(e, known) for e in elements)
        yield from ((produced, e) for e in nearest if e is not None)


def _corners(nest: Nest, loads: list[Load], produced: Produced) -> Iterator[tuple[Expr, ...]]:
    """The last element that an instance reads, the first one, and each by itself.

    Where an index has no bound (it is read from memory), the last element stands for all.
    """
    ranges = {s.var: (s.min, s.extent) for s in nodes_of(nest.body, For)}
    inner, outer = Bounds(ranges), Bounds({s.var: (s.min, s.extent) for s in nest.loops})
    bounds = [index_bounds([n.indices[d] for n in loads], inner, outer) for d in range(len(produced.whole))]
    ends = [side.start + side.extent - 1 for side in produced.whole]
    last = tuple(high if high is not None else end for (_, high), end in zip(bounds, ends, strict=True))
    first = tuple(low if low is not None else end for (low, _), end in zip(bounds, ends, strict=True))
    seen: set[tuple[Expr, ...]] = set()
    for element in (last, first, *(n.indices for n in loads)):
        usable = all(e.dtype.lanes == 1 and is_index(e) and not set(free_vars(e)) & set(ranges) for e in element)
        if usable and element not in seen:
            seen.add(element)
            yield element


# -- the nest under other loops ----------------------------------------------------------------------------------------


def _moved(
    session: Session, nest: Nest, around: list[For], produced: Produced, element: tuple[Expr, ...], unit_loops: bool
) -> None:
    """Put the nest under the loops ``around``, and merge these."""
    fresh = {s.var: Var.fresh(s.var.name, s.var.dtype) for s in around}
    inner = {s.var: Var.fresh(s.var.name, s.var.dtype) for s in nest.loops}
    new = _renewed(session, nest, around, produced, element, fresh, inner)
    session.apply(moves.reindex(nest.path, len(nest.chain), new.loops, new.guards, new.old_of_new, new.new_of_old))
    session.renamed.update(inner)
    join_guards(session, nest.path)
    simplify_expressions(session, nest.path)
    consumer = nest.path
    for s in around:
        consumer = _beside(session, consumer, s)
        producer = loop_path(session.func, s.var)
        assert producer is not None
        session.apply(moves.fuse(producer[:-1], producer[-1]))
        consumer = _last(session, loop_path(session.func, s.var))
    if remove_decided_loops(session, consumer, unit_loops=unit_loops):
        simplify_expressions(session, consumer)
    decide_branches(session, consumer)
    while not unit_loops and isinstance(session.left(consumer), For):
        if not remove_trivial_loops(session, consumer):
            break  # it stops, too, where the statement at the place has become another


def _beside(session: Session, consumer: Path, loop: For) -> Path:
    """Bring the consumer, which stands somewhere after the producer, directly behind one of its loops: into the
    allocations and conditions around that; gives the consumer's place."""
    while True:
        sequence = consumer[:-1]
        producer = loop_path(session.func, loop.var)
        assert producer is not None and producer[: len(sequence)] == sequence
        position = _brought_together(session, sequence, producer[len(sequence)], consumer[-1])
        consumer = (*sequence, position + 1)
        top = (*sequence, position)
        stmt = session.stmt(top)
        if stmt is loop or (isinstance(stmt, For) and stmt.var is loop.var):
            return consumer
        alone = len(sub_statements(session.stmt(sequence))) == 2
        match stmt:
            case Allocate():
                session.apply(moved(top, "widen"))
            case If(condition=c, else_body=None):
                _under(session, top, c, sequence if alone else top)
            case _:
                what = f"the label {stmt.name}" if isinstance(stmt, Block) else f"a {type(stmt).__name__}"
                raise fail(
                    f"{what} stands around the loop over {loop.var.name}; nothing is moved into that",
                    top,
                    code=codes.STANDS_ELSEWHERE,
                )
        consumer = _last(session, sequence if alone else top)


def _under(session: Session, top: Path, condition: Expr, branch: Path) -> None:
    """``if c: A`` and the consumer behind it come under one condition, where the consumer does nothing without it.

    :param branch: where the two stand then.
    """
    session.apply(moves.introduce(top, condition, 2))
    session.apply(Erase((*branch, 1, 1)))
    otherwise = session.stmt((*branch, 1))
    session.apply(moves.decide((*branch, 1, 0) if isinstance(otherwise, Seq) else (*branch, 1), False))
    session.apply(moves.decide((*branch, 0, 0), True))
    session.apply(moves.reshape(branch, "trim"))


def _last(session: Session, around: Path | None) -> Path:
    """The last statement below a loop, an allocation or a condition."""
    assert around is not None
    return (*around, 0, len(session.at((*around, 0), Seq).stmts) - 1)


def _renewed(
    session: Session,
    nest: Nest,
    around: list[For],
    produced: Produced,
    element: tuple[Expr, ...],
    fresh: dict[Var, Var],
    inner: dict[Var, Var],
) -> Renewed:
    """The new loops: the producer's, and within them those of the consumer, cut down to what one iteration decides."""
    outer = tuple(
        NewLoop(fresh[s.var], substitute(s.min, fresh), substitute(s.extent, fresh), s.kind, s.thread, s.annotations)
        for s in around
    )
    iteration = iteration_of(produced, around, element)
    ranges = {**session.ranges(nest.path), **{s.var: (s.min, s.extent) for s in outer}}
    loops: list[NewLoop] = []
    values: dict[Var, Expr] = {}
    back: list[Expr] = []
    for s in nest.loops:
        tied = _tied(s, produced, element, around)
        if tied is None:
            low, extent = substitute(s.min, values), substitute(s.extent, values)
            values[s.var] = inner[s.var]
            back.append(s.var)
        else:
            start, extent = (counted_in(e, s.var.dtype) for e in tied)
            low = const(0, s.var.dtype)
            values[s.var] = inner[s.var] + substitute(start, fresh)
            back.append(s.var - substitute(start, iteration))
        ranges[inner[s.var]] = (low, extent)
        loops.append(NewLoop(inner[s.var], low, extent, s.kind, s.thread, s.annotations))
    simpler = Simplifier(Bounds(ranges))
    values = {v: simpler.expr(e) for v, e in values.items()}
    guards = [*_inside(nest, values, inner), *_there(iteration, values, fresh)]
    guards += [c for s in nest.chain if isinstance(s, If) for c in conjuncts(substitute(s.condition, values))]
    kept = [g for c in guards if not _is_true(g := simpler.expr(c))]
    old_of_new = tuple(values[s.var] for s in nest.loops)
    return Renewed((*outer, *loops), tuple(kept), old_of_new, (*(iteration[s.var] for s in around), *back))


def _tied(loop: For, produced: Produced, element: tuple[Expr, ...], around: Sequence[For]) -> tuple[Expr, Expr] | None:
    """Where the iterations of a consumer's loop start that belong to one iteration of the producer, and how many."""
    moving = {s.var for s in around}
    for side, index in zip(produced.sides, element, strict=True):
        split = as_poly(index).coefficient(loop.var)
        if split is None or loop.var not in free_vars(index) or not moving & set(free_vars(side.start)):
            continue
        factor, rest = split[0].constant, split[1]
        if factor is None or factor < 1 or any(isinstance(a, Var) and a is loop.var for a in rest.atoms()):
            continue
        if any(v in moving for v in free_vars(side.extent)):
            continue
        start = render(as_poly(side.start) - rest, loop.var.dtype)
        others = [v for v in free_vars(start) if v not in produced.known]
        if others:
            continue
        if factor == 1:
            return start, side.extent
        return (start + (factor - 1)) // factor, (side.extent + (factor - 1)) // factor
    return None


def _inside(nest: Nest, values: dict[Var, Expr], inner: dict[Var, Var]) -> Iterator[Expr]:
    """The old ranges."""
    for s in nest.loops:
        if values[s.var] is not inner[s.var]:
            low, extent = substitute(s.min, values), substitute(s.extent, values)
            yield Binary("ge", values[s.var], low)
            yield Binary("lt", values[s.var], low + extent)


def _there(iteration: dict[Var, Expr], values: dict[Var, Expr], fresh: dict[Var, Var]) -> Iterator[Expr]:
    """That the instance belongs to this iteration of the producer's loops."""
    for v, e in iteration.items():
        yield Binary("eq", fresh[v], substitute(substitute(e, values), fresh))


def _is_true(e: Expr) -> bool:
    return isinstance(e, IntImm) and e.value == 1
