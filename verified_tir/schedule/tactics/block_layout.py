"""transform_block_layout, reorder_block_iter_var: the iteration variables of a block, mapped or in another order."""

from __future__ import annotations

from collections.abc import Sequence

from verified_tir.index.conditions import negate
from verified_tir.index.fold import size
from verified_tir.index.map import IndexMap
from verified_tir.index.simplify import simplify as simplify_index
from verified_tir.ir.expr import FALSE, Expr, Var
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import For, If, Seq
from verified_tir.ir.sugar import all_of, binary
from verified_tir.ir.visit import free_vars, substitute
from verified_tir.kernel.effects import read_blocks
from verified_tir.kernel.obligation import Unproved
from verified_tir.schedule import codes, moves
from verified_tir.schedule.edits import rewritten
from verified_tir.schedule.moves import NewLoop
from verified_tir.schedule.session import Session, TacticFailed, fail
from verified_tir.schedule.tactics.block_domain import (
    BlockMap,
    applied,
    block_loops,
    check_box,
    map_of_block,
    scope_of,
)
from verified_tir.schedule.tactics.licensed import in_another_order
from verified_tir.schedule.tactics.simplify import simplify_expressions
from verified_tir.schedule.tactics.tidy import guards_of, join_guards


def transform_block_layout(session: Session, block: str, index_map: BlockMap, reassociate: str = "") -> None:
    """Run a block in loops that are the outputs of a map of its iteration variables."""
    mapping = map_of_block(session, block, index_map)
    loops = block_loops(session, block)
    if not loops:
        raise fail(
            f"no loop stands around block {block}: there is nothing to map",
            session.block(block)[0],
            code=codes.STANDS_ELSEWHERE,
        )
    start = _start(session, block)
    check_box(loops, start)
    for s in loops:
        if s.kind != "serial":
            raise fail(
                f"the loop over {s.var.name} is marked {s.kind}: map the block first, then mark it",
                start,
                code=codes.MARKED_LOOP,
            )
    outputs = applied(mapping, loops, simplified=False)
    try:
        box = IndexMap(tuple(s.var for s in loops), outputs).on([s.extent for s in loops])
        zero = loops[0].min
        new = [NewLoop(Var.fresh(f"ax{k}", n.dtype), zero, n) for k, n in enumerate(box.padded)]
        inverse, padding = box.inverse, box.padding(True)
    except IRError as problem:
        raise fail(f"the map of block {block}: {problem}", start, code=codes.INDEX_MAP) from problem
    at = dict(zip(box.hit_vars, (s.var for s in new), strict=True))
    old = [substitute(e, at) for e in inverse]
    holes = [] if padding is FALSE else [negate(substitute(padding, at))]
    _reindex(session, start, block, loops, new, old, outputs, holes, reassociate)


def _start(session: Session, block: str) -> Path:
    """The outermost loop of a block, with nothing but loops and conditions between it and the block.

    :raises TacticFailed: if something else stands there.
    """
    path, _ = session.block(block)
    first = scope_of(session, path)
    start = next((path[:k] for k in range(first, len(path)) if isinstance(session.stmt(path[:k]), For)), path)
    for k in range(len(start), len(path)):
        stmt = session.stmt(path[:k])
        if isinstance(stmt, For) or (isinstance(stmt, If) and stmt.else_body is None):
            continue
        what = "other statements share" if isinstance(stmt, Seq) else f"{type(stmt).__name__} stands in"
        raise fail(
            f"{what} the loops of block {block}: give it loops of its own first (fission)",
            path[:k],
            code=codes.NOT_PERFECTLY_NESTED,
        )
    return start


def _reindex(
    session: Session, start: Path, block: str, loops: Sequence[For], new: Sequence[NewLoop], old: Sequence[Expr],
    outputs: Sequence[Expr], holes: Sequence[Expr], licence: str,
) -> None:  # fmt: skip
    """Ask the kernel for the new nest, in another order of the reduction if need be, and simplify what is in it."""
    path, _ = session.block(block)
    chain = [session.stmt(path[:k]) for k in range(len(start), len(path))]
    value = dict(zip((s.var for s in loops), old, strict=True))
    ranges = {s.var: (s.min, s.extent) for s in new}
    guards = [*holes, *(simplify_index(g, ranges) for g in guards_of(chain, value))]
    old_of_new = tuple(value[s.var] for s in chain if isinstance(s, For))
    rule = moves.reindex(start, len(chain), tuple(new), tuple(guards), old_of_new, tuple(outputs))
    try:
        session.apply(rule)
    except TacticFailed as refused:
        if not (isinstance(refused.refusal, Unproved) and refused.refusal.obligation.name == "dependence"):
            raise
        in_another_order(session, rule, licence, "transform_block_layout")
    for s in loops:
        same = next((n.var for e, n in zip(outputs, new, strict=True) if e is s.var), None)
        if same is not None:
            session.renamed[s.var] = same
        else:
            names = ", ".join(n.var.name for n in new)
            session.gone[s.var] = f"transform_block_layout made {names} of the loops of {block}"
    session.axes[block] = tuple(n.var for n in new)
    simplify_expressions(session, start)
    join_guards(session, start)
    _plain_initialisation(session, block)


def _plain_initialisation(session: Session, block: str) -> None:
    """Write the condition of a block's initialisation as ``y == 0`` where it is ``y // 4 == 0 and y % 4 == 0``."""
    path, label = session.block(block)
    match label.body:
        case Seq(stmts=(If(condition=c, else_body=None), *_)) if not read_blocks(c):
            loops = [s for s in block_loops(session, block) if s.var in free_vars(c)]
            first = all_of([binary("eq", s.var, s.min) for s in loops]) if loops else c
            if size(first) < size(c):
                session.attempt(rewritten((*path, 0, 0), (0,), first))


def reorder_block_iter_var(session: Session, block: str, new_order: Sequence[int]) -> None:
    """Count a block's iteration variables, which are the loops around it, in a new order: no loop changes its place."""
    path, _ = session.block(block)
    loops = block_loops(session, block)
    numbers = list(new_order) if isinstance(new_order, (list, tuple)) else None
    if numbers is None or any(isinstance(k, bool) or not isinstance(k, int) for k in numbers):
        raise fail(f"the new order is a list of numbers, not {new_order!r}", path, code=codes.WRONG_ARGUMENT)
    if sorted(numbers) != list(range(len(loops))):
        raise fail(
            f"the new order {numbers} does not name each of the {len(loops)} iteration variables of block {block} once",
            path,
            code=codes.WRONG_ARGUMENT,
        )
    session.axes[block] = tuple(loops[k].var for k in numbers)
