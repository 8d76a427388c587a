"""sequential_buffer_access: loops that run through a buffer in the order of its layout (RFC 77, "New Utility - Reorder
Loops According to Buffer").

The indices of an access, as functions of the loops around it, are an index map; its outputs become the new loops and
its inverse says what the old ones were.  Where the indices do not determine the iteration (``A[i + f]`` in a
convolution), some loops stay, innermost; those of a reduction are tried first.  Where an initialisation stands between
two loops, each of the two is rebuilt by itself; if an index needs both, it is taken out first (``access_nest``).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from verified_tir.index.bounds import Ranges
from verified_tir.index.conditions import negate
from verified_tir.index.fold import folded, size
from verified_tir.index.map import IndexMapError, NegativeIndex
from verified_tir.index.simplify import simplify as simplify_index
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import COMPARE_OPS, FALSE, Binary, Expr, IntImm, Load, Var
from verified_tir.ir.find import loop_path
from verified_tir.ir.index_arith import is_index
from verified_tir.ir.paths import Path, places
from verified_tir.ir.stmt import For, If, Store
from verified_tir.ir.sugar import binary
from verified_tir.ir.visit import free_vars
from verified_tir.kernel.effects import read_blocks
from verified_tir.kernel.obligation import Unproved
from verified_tir.schedule import codes, moves
from verified_tir.schedule.edits import parts, rewritten
from verified_tir.schedule.loop_layout import Layout, choices, layout_of
from verified_tir.schedule.moves import NewLoop
from verified_tir.schedule.rule_builders import RuleBuilder
from verified_tir.schedule.session import Session, TacticFailed, fail
from verified_tir.schedule.tactics.access_nest import (
    Nest,
    Segment,
    inline_lets,
    isolate,
    leaves,
    nest_around,
    uses,
)
from verified_tir.schedule.tactics.branches import decide_branches
from verified_tir.schedule.tactics.layout import BufferIn, buffer_in, find_buffer
from verified_tir.schedule.tactics.licensed import in_another_order
from verified_tir.schedule.tactics.simplify import proposed_rewrites
from verified_tir.schedule.tactics.tidy import guards_of, join_guards

PROOFS = 3
"""For how many choices of loops that stay the kernel is asked."""


def sequential_buffer_access(
    session: Session, buffer: BufferIn, block: str | Var | Buffer | None = None, reassociate: str = ""
) -> list[Var]:
    """Make the loops around each access of a buffer follow its layout; gives the loops of the last nest.

    :param block: a block, or a loop: only what stands in it.  It may come first and the buffer second, as in TVM.
    """
    if isinstance(block, Buffer) or (isinstance(block, str) and isinstance(buffer, str) and _swapped(session, buffer)):
        if not isinstance(buffer, str):
            raise fail(
                f"sequential_buffer_access takes a buffer and a block or loop, not {buffer!r} and {block!r}",
                code=codes.WRONG_ARGUMENT,
            )
        buffer, block = block, buffer
    assert not isinstance(block, Buffer)
    if isinstance(block, str):
        found, within = buffer_in(session, block, buffer), session.block(block)[0]
    elif isinstance(buffer, tuple):
        raise fail(f"{buffer!r} is a buffer of a block; say which block", code=codes.NO_BUFFER)
    else:
        found, within = find_buffer(session, buffer)[0], () if block is None else session.loop(block)[0]
    numbers = [k for k, leaf in enumerate(leaves(session)) if leaf[: len(within)] == within]
    after = len(leaves(session)) - numbers[-1] - 1
    done: list[Var] = []
    followed: set[Var] = set()
    last = (numbers[0] - 1, 0)
    while True:
        site = next((s for s in _sites(session, found) if s > last), None)
        if site is None or site[0] >= len(leaves(session)) - after:
            break
        before = len(leaves(session))
        loops = _follow(session, site, found, followed, reassociate)
        done = loops or done
        followed.update(loops)
        # a branch that went took its statements with it: looking at some again does no harm
        last = (max(numbers[0] - 1, site[0] + min(0, len(leaves(session)) - before)), site[1])
    if not done:
        where = "" if block is None else f" in {block if isinstance(block, str) else block.name}"
        if not any(numbers[0] <= k < len(leaves(session)) - after for k, _ in _sites(session, found)):
            raise fail(f"nothing accesses {found.name}{where}", code=codes.NOT_USED_THERE)
        raise fail(
            f"no loop nest around an access of {found.name}{where} has a loop that its indices use",
            code=codes.NOTHING_TO_CHANGE,
        )
    return done


def _swapped(session: Session, name: str) -> bool:
    """Whether a name means a block and no buffer."""
    return session.has_block(name) and all(b.name != name for b in session.buffers)


Site = tuple[int, int]
"""A statement that accesses the buffer: the number of its first leaf, and how far above that it stands, negated."""


def _sites(session: Session, buffer: Buffer) -> list[Site]:
    """In program order."""
    found = [p for p, _ in places(session.func.body, lambda s: uses(s, buffer))]
    return sorted(
        next((k, len(p) - len(leaf)) for k, leaf in enumerate(leaves(session)) if leaf[: len(p)] == p) for p in found
    )


def _place(session: Session, site: Site) -> Path:
    """Where a statement stands now: neither fission nor reindexing changes the order of leaves, or what is below it."""
    leaf = leaves(session)[site[0]]
    return leaf[: len(leaf) + site[1]]


def _follow(session: Session, site: Site, buffer: Buffer, followed: set[Var], licence: str) -> list[Var]:
    """Rebuild the loops around one access where they are not in order; gives the loops of the layout."""
    nest = _nest(session, site, buffer)
    if nest is None:
        return []
    while (split := nest.in_the_way(followed)) is not None:
        func = session.func
        isolate(session, nest, *split)
        if session.func is func:
            name = split[1].name
            reason = f"the loop over {name} follows another access of {buffer.name} in the same nest already"
            raise fail(reason, nest.path)
        nest = _nest(session, site, buffer)
        assert nest is not None
    rebuilt: list[Var] = []
    for _ in nest.segments:
        k = next((k for k in range(len(nest.segments)) if not nest.ordered(k)), None)
        if k is None:
            break
        loops = _rebuild(session, nest, k, buffer, licence)
        rebuilt += loops
        again = _nest(session, site, buffer)
        if again is not None:
            _straighten(session, again, buffer, dict(zip(nest.moving(k), loops, strict=True)))
            again = _nest(session, site, buffer)
        if again is None:  # every loop of the layout runs once, so no index depends on one
            break
        nest = again
    around = [s.var for s in session.loops_around(_place(session, site))]
    kept = {v for k in range(len(nest.segments)) if not set(rebuilt) & set(nest.loops(k)) for v in nest.loops(k)}
    kept &= {v for e in nest.indices for v in free_vars(e)}
    if rebuilt or any(new is not old for new, old in zip(nest.indices, nest.written, strict=True)):
        _tidy(session, nest)
    return [v for v in around if (v in rebuilt or v in kept) and loop_path(session.func, v) is not None]


def _nest(session: Session, site: Site, buffer: Buffer) -> Nest | None:
    """The nest of an access, with its indices in their simplest form: an earlier step may not have left them so."""
    nest = nest_around(session, _place(session, site), buffer)
    if nest is None:
        return None
    loops = [s for segment in nest.segments for s in segment.loops]
    ranges = {s.var: (s.min, s.extent) for s in loops}
    simpler = [simplify_index(e, ranges) for e in nest.indices]
    # a dimension stays one of the layout's, also where it has a single place
    indices = tuple(new if free_vars(new) else old for old, new in zip(nest.indices, simpler, strict=True))
    return replace(nest, indices=indices)


def _straighten(session: Session, nest: Nest, buffer: Buffer, now: dict[int, Var]) -> None:
    """Put the new loops in the place of the indices that they follow (by dimension), where the simplifier did not see
    it."""
    stmt = session.stmt(nest.path)
    target = isinstance(stmt, Store) and stmt.buffer is buffer
    where = (
        (1,) if target else next((w for w, e in parts(stmt) if isinstance(e, Load) and e.indices == nest.written), None)
    )
    if where is None:
        return
    first = where if target else (*where, 0)
    for d, var in now.items():
        if nest.indices[d] is not var:
            session.attempt(rewritten(nest.path, (*first[:-1], first[-1] + d), var))


def _tidy(session: Session, nest: Nest) -> None:
    """Simplify the nest, its new guards apart, which are in their best form."""
    guards = set()
    for segment in nest.segments:
        place = segment.start
        while isinstance(session.stmt(place), For):
            place = (*place, 0)
        guard = session.stmt(place)
        if isinstance(guard, If) and not read_blocks(guard.condition):
            guards.add(place)
    start = nest.segments[0].start
    for rule in proposed_rewrites(session, start):
        if rule.path not in guards:
            session.attempt(rule)
    decide_branches(session, start)


# -- one segment -------------------------------------------------------------------------------------------------------


def _rebuild(session: Session, nest: Nest, k: int, buffer: Buffer, licence: str) -> list[Var]:
    """Rebuild a segment in the order of the layout, with the first choice of loops that stay which the kernel allows;
    gives the loops of the layout."""
    end = inline_lets(session, nest.segments[k].start, (*nest.segments[k].end, 0))
    segment = Segment.between(session, nest.segments[k].start, end[:-1])
    _check_segment(segment)

    def rebuilt(layout: Layout) -> list[Var]:
        _reindex(session, segment, layout, buffer, licence)
        return [s.var for s in layout.loops[: len(nest.moving(k))]]

    layouts = itertools.islice(_layouts(segment, nest, k, buffer), PROOFS)
    return session.first_of(partial(rebuilt, layout) for layout in layouts)


def _check_segment(segment: Segment) -> None:
    inner = {s.var for s in segment.loops}
    for s in segment.loops:
        if inner & {*free_vars(s.min), *free_vars(s.extent)}:
            raise fail(
                f"the range of the loop over {s.var.name} depends on another: not a box",
                segment.start,
                code=codes.NOT_A_BOX,
            )
        if s.kind == "thread_binding":
            raise fail(
                f"the loop over {s.var.name} is bound to {s.thread}; follow the layout first",
                segment.start,
                code=codes.MARKED_LOOP,
            )


def _layouts(segment: Segment, nest: Nest, k: int, buffer: Buffer) -> Iterator[Layout]:
    """Nests that follow the layout, for each choice of loops that stay; those of a reduction are tried first."""
    places = [(e, n) for e, n in zip(nest.indices, buffer.shape, strict=True) if set(nest.loops(k)) & set(free_vars(e))]
    order = [s for s in segment.loops if any(s.var in free_vars(e) for e, _ in places)]
    reduction = [s for s in order if s.var not in nest.stored]
    problem: IndexMapError | None = None
    found = False
    for kept in choices(order, reduction):
        try:
            yield layout_of(order, places, kept, guarded=any(isinstance(s, If) for s in segment.chain))
            found = True
        except NegativeIndex as reason:
            what = f"loops cannot follow negative indices of {buffer.name}: {reason}"
            raise fail(what, segment.start) from reason
        except IndexMapError as reason:
            problem = problem or reason
    if not found:
        raise fail(
            f"the accesses of {buffer.name} do not determine the iteration: {problem}",
            segment.start,
            code=codes.NOT_INVERTIBLE,
        )


def _reindex(session: Session, segment: Segment, layout: Layout, buffer: Buffer, licence: str) -> None:
    """Ask the kernel for the new nest: with guards that the inverse leads to an iteration, else that no hole is met."""
    others = [s for s in segment.loops if s not in layout.order]
    keep = {s.var: Var.fresh(s.var.name, s.var.dtype) for s in others}
    loops = (*layout.loops, *(NewLoop(keep[s.var], s.min, s.extent, s.kind, s.thread, s.annotations) for s in others))
    mapping = {**keep, **{s.var: g for s, g in zip(layout.order, layout.inverse, strict=True)}}
    guards = guards_of(segment.chain, mapping)
    new_of_old = (*layout.outputs, *(s.var for s in others))
    old_of_new = tuple(mapping[s.var] for s in segment.loops)
    start, depth = segment.start, len(segment.chain)
    ranges = {**layout.ranges, **{keep[s.var]: (s.min, s.extent) for s in others}}
    inside = [c for s, g in zip(layout.order, layout.inverse, strict=True) for c in _inside(s, g, ranges)]
    short = [c for g in guards if (c := _condition(g, ranges)) is not None]
    hole = [] if layout.hole is FALSE else [negate(layout.hole)]
    plain = [c for c in short if not read_blocks(c)]  # what reads memory may be evaluated at old iterations only
    _either(session, [
        moves.reindex(start, depth, loops, tuple(all_guards), old_of_new, new_of_old)
        for all_guards in ([*plain, *inside, *(c for c in short if c not in plain)], [*hole, *guards])
    ], licence)  # fmt: skip
    session.renamed.update(keep)
    for s in layout.order:
        same = next((n.var for e, n in zip(layout.outputs, layout.loops, strict=True) if e is s.var), None)
        if same is not None:
            session.renamed[s.var] = same
        else:
            new = ", ".join(n.var.name for n in layout.loops)
            session.gone[s.var] = f"its nest was rebuilt to follow {buffer.name}: {new}"
    join_guards(session, start)


def _either(session: Session, rules: list[RuleBuilder], licence: str) -> None:
    """Take the first of some steps that the kernel allows; in one that only changes the order of a reduction, that."""
    for rule in rules:
        try:
            session.apply(rule)
        except TacticFailed as failed:
            refused = failed
        else:
            return
        if isinstance(refused.refusal, Unproved) and refused.refusal.obligation.name == "dependence":
            in_another_order(session, rule, licence, "sequential_buffer_access")
            return
    raise refused


def _inside(loop: For, value: Expr, ranges: Ranges) -> Iterator[Expr]:
    """Conditions that a value lies in a loop's range, without those that the new ranges imply."""
    value = simplify_index(value, ranges)
    for condition in (binary("le", loop.min, value), binary("lt", value, folded(loop.min + loop.extent))):
        known = simplify_index(condition, ranges)
        if not (isinstance(known, IntImm) and known.value == 1):
            yield condition


def _condition(guard: Expr, ranges: Ranges) -> Expr | None:
    """A guard in a shorter form, comparisons as they were written; ``None`` if it is true."""
    known = simplify_index(guard, ranges)
    if isinstance(known, IntImm) and known.value == 1:
        return None
    if isinstance(guard, Binary) and guard.op in COMPARE_OPS and guard.a.dtype.is_int and is_index(guard):
        return binary(guard.op, simplify_index(guard.a, ranges), simplify_index(guard.b, ranges))
    return known if size(known) < size(guard) else guard
