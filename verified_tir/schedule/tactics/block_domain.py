"""The iteration domain of a block: which loops are its iteration variables, and maps of these.

Blocks are expanded when a program is taken, so a block's iteration variables are the loops around it, up to the next
block.  They are counted in the order in which the block declares its axes, or else in that in which they stood when the
block first appeared: a later ``reorder`` of the loops does not change the order of TVM's iteration variables either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from verified_tir.index.bounds import Ranges
from verified_tir.index.map import IndexMap, IndexMapError, parameter_names
from verified_tir.index.simplify import simplify as simplify_index
from verified_tir.ir.dtype import INT32, INT64
from verified_tir.ir.expr import Expr, IntImm, Var
from verified_tir.ir.find import places_of
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path, at
from verified_tir.ir.stmt import Block, For, Stmt
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import free_vars, substitute
from verified_tir.schedule import codes
from verified_tir.schedule.session import Session, fail

BlockMap = IndexMap | Callable[..., Any]
"""A map of a block's iteration variables, as it is given."""


def scope_of(session: Session, path: Path) -> int:
    """How many steps lead to the body of the next block around a place; 0 if there is none."""
    return next((k + 1 for k in reversed(range(len(path))) if isinstance(session.stmt(path[:k]), Block)), 0)


def block_loops(session: Session, block: str) -> list[For]:
    """The loops that are a block's iteration variables, in the order of these.

    :raises TacticFailed: if that is not known.
    """
    found = loops_in_order(session, block)
    if found is None:
        names = ", ".join(v.name for v in session.axes[block])
        raise fail(
            f"block {block} declares its iteration variables in another order ({names}) than that of its loops, which "
            "are others now: their order is not known; take this step earlier",
            session.block(block)[0],
            code=codes.NOT_OF_THIS_FORM,
        )
    return found


def loops_in_order(session: Session, block: str) -> list[For] | None:
    """The loops that are a block's iteration variables, in the order of these; ``None`` if it is not known."""
    path, _ = session.block(block)
    now = session.loops_around(path, scope_of(session, path))
    declared = session.axes.get(block)
    first = _as_they_are(session, declared or next(_orders(session, block), []))
    by_var = {s.var: s for s in now}
    if len(first) == len(now) and set(first) == set(by_var):
        return [by_var[v] for v in first]
    if declared is None or not _unusual(session, block, declared):
        return now
    kept = [v for v in first if v in by_var]
    known = len(now) - len(kept) <= 1 and kept == [s.var for s in now if s.var in kept]
    return now if known else None


def _as_they_are(session: Session, loops: Sequence[Var]) -> list[Var]:
    """Loops as they are now: renamed, or the parts into which they were split."""
    found: list[Var] = []
    for v in map(session.current, loops):
        found += _as_they_are(session, session.parts[v]) if v in session.parts else [v]
    return found


def _unusual(session: Session, block: str, declared: Sequence[Var]) -> bool:
    """Whether iteration variables have another order than their loops had at first."""
    return next((order != [*declared] for order in _orders(session, block) if {*order} == {*declared}), True)


def _orders(session: Session, block: str) -> Iterator[list[Var]]:
    """The loops around a block in all programs that have it."""
    for func in (session.theorem.before, *(step.after for step in session.theorem.derivation)):
        found = [p for p, _ in places_of(func.body, Block, lambda s: s.name == block)]
        if len(found) == 1:
            path = found[0]
            around: list[Stmt] = [at(func.body, path[:k]) for k in range(len(path))]
            inner = next((k + 1 for k in reversed(range(len(around))) if isinstance(around[k], Block)), 0)
            yield [s.var for s in around[inner:] if isinstance(s, For)]


def map_of_block(session: Session, block: str, given: BlockMap, *, ranges: bool = False) -> IndexMap:
    """A map of a block's iteration variables, its inputs in their order.

    :param ranges: each item of the result is an index or a pair (begin, end), and becomes two outputs.
    :raises TacticFailed: if the function does not take as many, or gives something other than indices.
    """
    loops = block_loops(session, block)
    dtype = INT64 if any(s.var.dtype is INT64 for s in loops) else INT32
    if isinstance(given, IndexMap):
        if len(given.inputs) != len(loops):
            raise fail(_count(block, loops, len(given.inputs)), session.block(block)[0], code=codes.INDEX_MAP)
        try:
            return given.counted_in(dtype)
        except IRError as problem:
            raise fail(
                f"the map of block {block}: {problem}", session.block(block)[0], code=codes.INDEX_MAP
            ) from problem
    if not callable(given):
        raise fail(
            f"a map of a block's iteration variables is a function or an IndexMap, not {given!r}",
            code=codes.WRONG_ARGUMENT,
        )
    try:
        names = parameter_names(given, len(loops))
        inputs = [Var.fresh(name, dtype) for name in names]
        result = given(*inputs)
        items = list(result) if isinstance(result, (list, tuple)) else [result]
        outputs = [_of_type(e, dtype) for e in (_ends(items) if ranges else items)]
        return IndexMap.from_func(lambda *xs: [_at(e, inputs, xs) for e in outputs], len(loops), dtype)
    except IRError as problem:
        raise fail(f"the map of block {block}: {problem}", session.block(block)[0], code=codes.INDEX_MAP) from problem


def _count(block: str, loops: Sequence[For], count: int) -> str:
    names = ", ".join(s.var.name for s in loops) or "none"
    return f"block {block} has {len(loops)} iteration variables ({names}), and the map takes {count}"


def _ends(items: Sequence[Any]) -> list[Any]:
    """Begin and end of each range; an index is a range of one.

    :raises IndexMapError: if a tuple is not a pair.
    """
    found: list[Any] = []
    for item in items:
        pair = list(item) if isinstance(item, (list, tuple)) else [item, item + 1]
        if len(pair) != 2:
            raise IndexMapError(f"a range is a pair (begin, end), not {len(pair)} values")
        found += pair
    return found


def _of_type(item: Any, dtype: Any) -> Any:
    """A constant as one of the map's type; anything else as it is."""
    return const(item.value, dtype) if isinstance(item, IntImm) and item.dtype.is_int else item


def _at(item: Any, inputs: Sequence[Var], values: Sequence[Var]) -> Any:
    return substitute(item, dict(zip(inputs, values, strict=True))) if isinstance(item, Expr) else item


def applied(mapping: IndexMap, loops: Sequence[For], *, simplified: bool = True) -> tuple[Expr, ...]:
    """The outputs of a map over the loops that are its inputs.

    :raises TacticFailed: if the loops are not of the map's type, or do not start at 0.
    """
    for s in loops:
        if s.var.dtype is not mapping.dtype:
            raise fail(
                f"the loop over {s.var.name} counts in {s.var.dtype}, and the map in {mapping.dtype}: "
                "all iteration variables of the block need one type",
                code=codes.TYPES_DIFFER,
            )
        if not (isinstance(s.min, IntImm) and s.min.value == 0):
            raise fail(
                f"the loop over {s.var.name} does not start at 0; split or shift it first", code=codes.NOT_CONSTANT
            )
    outputs = mapping.apply([s.var for s in loops])
    return tuple(shorter(e, ranges_of(loops)) for e in outputs) if simplified else outputs


def shorter(e: Expr, ranges: Ranges) -> Expr:
    """An index in its simplest form; one that is a constant only because its loop runs once stays as it is."""
    new = simplify_index(e, ranges)
    return new if free_vars(new) or not free_vars(e) else e


def ranges_of(loops: Sequence[For]) -> Ranges:
    """The ranges of loops."""
    return {s.var: (s.min, s.extent) for s in loops}


def check_box(loops: Sequence[For], path: Path) -> None:
    """Check that no loop's range depends on another of them.

    :raises TacticFailed: if one does.
    """
    inner = {s.var for s in loops}
    for s in loops:
        if inner & {*free_vars(s.min), *free_vars(s.extent)}:
            raise fail(
                f"the range of the loop over {s.var.name} depends on another loop: not a box",
                path,
                code=codes.NOT_A_BOX,
            )
