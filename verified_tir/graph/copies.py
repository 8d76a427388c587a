"""What a program copies: which element goes where, and what stands in the places to which none goes.

Input: a program with one buffer that it reads and one that it writes, its blocks expanded; loops may be split, fused,
reordered, of any kind.  Each store is taken to its access relation, ``{ x[b(j)] -> out[a(j)] : j in the loops }``, and
isl says of their union what a layout rewrite needs: that an element goes to one place, a place gets one element, and
none is left out; or it gives an element for which that is not so.  The map itself is computed from the indices.

This is a search.  What comes out is a proposal (the kernel proves it) or a reason that a person can check.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, final

from verified_tir.graph.errors import NoCopy
from verified_tir.graph.index_sets import Sets, point_text, sets_of
from verified_tir.index import isl
from verified_tir.index.box import Box
from verified_tir.index.map import IndexMap, IndexMapError
from verified_tir.index.parse import parse_index_map
from verified_tir.index.simplify import simplify
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import INT32
from verified_tir.ir.expr import Broadcast, Expr, FloatImm, IfThenElse, IntImm, Load, Not, Ramp, Select, Undef, Var
from verified_tir.ir.node import IRError
from verified_tir.ir.script import script
from verified_tir.ir.stmt import AttrStmt, Block, For, If, LetStmt, Seq, Stmt, Store
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import rewrite, substitute, walk

Ranges = Mapping[Var, tuple[int, int]]


@final
@dataclass(frozen=True, slots=True)
class Piece:
    """A store of one element, under its conditions, for all iterations of the loops (minimum and extent)."""

    loops: Ranges
    conditions: tuple[Expr, ...]
    at: tuple[Expr, ...]
    value: Expr

    @property
    def of(self) -> tuple[Expr, ...] | None:
        """Where the element is read, if it is copied."""
        return self.value.indices if isinstance(self.value, Load) else None


@final
@dataclass(frozen=True, slots=True)
class Copied:
    """``forward``: element i of the source is at ``index_map(i)`` of the target; what is around holds ``pad_value``
    (``None``: nothing that is known).  ``backward``: element i of the target comes from ``index_map(i)``, and the rest
    of the source is left out."""

    source: Buffer
    target: Buffer
    index_map: IndexMap
    direction: Literal["forward", "backward"]
    pad_value: Expr | None = None
    filled: bool = True
    """Whether every place of the target is stored to."""


def extents_of(buffer: Buffer) -> tuple[int, ...]:
    """The extents of a buffer, as numbers.

    :raises NoCopy: if they are none.
    """
    if not all(isinstance(e, IntImm) for e in buffer.shape):
        raise NoCopy(f"the shape of {buffer.name} is not fixed")
    return tuple(e.value for e in buffer.shape if isinstance(e, IntImm))


def copied(body: Stmt, source: Buffer, target: Buffer) -> Copied:
    """What a statement, which stores to ``target`` alone, copies there from ``source``.

    :raises NoCopy: with the reason, if it does anything else.
    """
    extents_of(source), extents_of(target)
    if source.dtype is not target.dtype:
        raise NoCopy(f"{source.name} is {source.dtype} and {target.name} {target.dtype}: elements are converted")
    pieces = list(pieces_of(body, source, target))
    if not any(p.of is not None for p in pieces):
        raise NoCopy(f"no element of {source.name} is copied to {target.name}")
    try:
        return _understood(pieces, source, target)
    except isl.Inexpressible:  # bits, say: then the map must be right as it stands
        return Copied(source, target, _map(pieces, source), "forward", _paddings(pieces), False)


# -- the stores --------------------------------------------------------------------------------------------------------


def pieces_of(body: Stmt, source: Buffer, target: Buffer) -> Iterator[Piece]:
    """The stores of a statement, in order, one piece for each value that is stored under a condition.

    :raises NoCopy: if something is stored that is neither an element of the source nor a constant.
    """
    yield from _Reader(source, target).read(body, {}, {}, ())


@final
class _Reader:
    def __init__(self, source: Buffer, target: Buffer) -> None:
        self.source, self.target = source, target

    def read(self, s: Stmt, env: dict[Any, Any], loops: Ranges, given: tuple[Expr, ...]) -> Iterator[Piece]:
        match s:
            case Seq(stmts=stmts):
                for inner in stmts:
                    yield from self.read(inner, env, loops, given)
            case Block(is_label=True, body=inner) | AttrStmt(body=inner):
                yield from self.read(inner, env, loops, given)
            case LetStmt(var=v, value=value, body=inner):
                yield from self.read(inner, {**env, v: substitute(value, env)}, loops, given)
            case For(var=v, min=low, extent=extent, body=inner):
                low, extent = (simplify(substitute(e, env), _exprs(loops)) for e in (low, extent))
                if not (isinstance(low, IntImm) and isinstance(extent, IntImm)):
                    raise NoCopy(f"the bounds of the loop over {v.name} are not numbers")
                yield from self.read(inner, env, {**loops, v: (low.value, max(extent.value, 0))}, given)
            case If(condition=c, then_body=yes, else_body=no):
                c = substitute(c, env)
                yield from self.read(yes, env, loops, (*given, c))
                if no is not None:
                    yield from self.read(no, env, loops, (*given, Not(c)))
            case Store(buffer=b, indices=indices, value=value, predicate=None) if b is self.target:
                at = [substitute(i, env) for i in indices]
                loops, at, value = _lanes(loops, at, substitute(value, env))
                yield from self.cases(loops, given, tuple(at), value)
            case Store(buffer=b):
                raise NoCopy(f"there is a store to {b.name}" + (" with a mask" if b is self.target else ""))
            case _:
                first = script(s).strip().splitlines()[0]
                raise NoCopy(f"a copy is loops and stores, and there is {first}")

    def cases(self, loops: Ranges, given: tuple[Expr, ...], at: tuple[Expr, ...], value: Expr) -> Iterator[Piece]:
        match value:
            case (
                IfThenElse(condition=c, true_value=a, false_value=b) | Select(condition=c, true_value=a, false_value=b)
            ):
                yield from self.cases(loops, (*given, c), at, a)
                yield from self.cases(loops, (*given, Not(c)), at, b)
            case Load(buffer=b) if b is not self.source:
                raise NoCopy(f"it reads {b.name}, which is not {self.source.name}")
            case Load(predicate=None):
                self.plain((*given, *at, *value.indices))
                yield Piece(loops, given, at, value)
            case FloatImm() | IntImm() | Undef():
                self.plain((*given, *at))
                yield Piece(loops, given, at, value)
            case _:
                other = next((n.buffer.name for n in walk(value) if isinstance(n, Load)), None)
                what = "what is computed" if other is None else f"what is computed from {other}"
                raise NoCopy(f"{self.target.name} gets {script(value)}: {what} is not a copy")

    def plain(self, exprs: Sequence[Expr]) -> None:
        for e in exprs:
            read = next((n.buffer.name for n in walk(e) if isinstance(n, Load)), None)
            if read is not None:
                raise NoCopy(f"where an element goes depends on the contents of {read}")


def _lanes(loops: Ranges, at: list[Expr], value: Expr) -> tuple[Ranges, list[Expr], Expr]:
    """A vector store as one of an element, with one loop more."""
    ramps = [n for e in (*at, value) for n in walk(e) if isinstance(n, (Ramp, Broadcast))]
    if not ramps:
        return loops, at, value
    count = ramps[0].lanes
    lane = Var.fresh("lane", next((n.base.dtype for n in ramps if isinstance(n, Ramp)), at[0].dtype.scalar))
    if any(n.lanes != count for n in ramps) or not isinstance(count, int):
        raise NoCopy("vectors of several lengths are stored")

    def one(n: Any) -> Any:
        match n:
            case Ramp(base=base, stride=stride):
                return base + stride * lane
            case Broadcast(value=inner):
                return inner
        return None

    try:
        return {**loops, lane: (0, count)}, [rewrite(e, one) for e in at], rewrite(value, one)
    except IRError as problem:
        raise NoCopy(f"a vector store is not understood: {problem}") from None


# -- the relation ------------------------------------------------------------------------------------------------------


def _understood(pieces: Sequence[Piece], source: Buffer, target: Buffer) -> Copied:
    """The map, or why there is none.

    :raises Inexpressible: if isl cannot say.
    """
    with sets_of(source, target) as sets:
        relation, paddings = sets.empty(), dict[Any, Any]()
        for p in pieces:  # what is stored later counts
            stored = sets.stored(p)
            relation = relation.subtract_range(stored)
            paddings = {v: s.subtract(stored) for v, s in paddings.items()}
            if p.of is not None:
                relation = relation.union(sets.relation(p))
            else:
                key = None if isinstance(p.value, Undef) else p.value
                paddings[key] = stored if key not in paddings else paddings[key].union(stored)
        sets.require_function(relation)
        around = sets.targets.subtract(relation.range())
        left_out = sets.sources.subtract(relation.domain())
        if not left_out.is_empty() and not around.is_empty():
            x, y = point_text(source, left_out), point_text(target, around)
            raise NoCopy(f"{x} is copied nowhere, and nothing is copied to {y}")
        if not left_out.is_empty():
            return Copied(source, target, _exact(sets, relation, pieces, source, backward=True), "backward")
        value = _padding(target, around, paddings)
        filled = around.is_subset(_union(paddings.values(), around))
        index_map = _exact(sets, relation, pieces, source, backward=False)
        return Copied(source, target, index_map, "forward", value, filled)


def _union(parts: Iterable[Any], like: Any) -> Any:
    total = like.subtract(like)
    for s in parts:
        total = total.union(s)
    return total


def _padding(target: Buffer, around: Any, paddings: Mapping[Any, Any]) -> Expr | None:
    """The value that all places hold to which nothing is copied; ``None`` if some of them hold nothing known."""
    held = {v: s.intersect(around) for v, s in paddings.items()}
    values = [v for v, s in held.items() if v is not None and not s.is_empty()]
    if len(values) > 1:
        (a, b) = values[:2]
        raise NoCopy(
            f"{point_text(target, held[a])} holds {script(a)} and {point_text(target, held[b])} {script(b)}: "
            "padding has one value"
        )
    return values[0] if values else None


def _paddings(pieces: Sequence[Piece]) -> Expr | None:
    values = list(dict.fromkeys(p.value for p in pieces if p.of is None and not isinstance(p.value, Undef)))
    if len(values) > 1:
        raise NoCopy(f"constants are stored, {' and '.join(map(script, values))}: padding has one value")
    return values[0] if values else None


# -- the map -----------------------------------------------------------------------------------------------------------


def _exact(sets: Sets, relation: Any, pieces: Sequence[Piece], source: Buffer, *, backward: bool) -> IndexMap:
    """The map that the relation is: as the program writes it, unless it is not that one or isl writes it much shorter.

    :raises NoCopy: if it is not a map that could be written.
    """
    found: list[IndexMap] = []
    with contextlib.suppress(NoCopy, isl.Inexpressible):
        written = _map(pieces, source, backward=backward)
        if sets.graph_of(written, backward=backward).is_equal(relation):
            found.append(written)
    try:
        found.append(sets.function(relation, backward=backward))
    except isl.Inexpressible as problem:
        if not found:
            raise NoCopy(f"no index map was found for the copy of {source.name}: {problem}") from None
    first, last = found[0], found[-1]
    return last if len(str(last)) < 0.75 * len(str(first)) else first


def _map(pieces: Sequence[Piece], source: Buffer, *, backward: bool = False) -> IndexMap:
    """Where elements go (``backward``: where they come from), from the first copy that says it.

    :raises NoCopy: if no map is found.
    """
    reason = "no copy"
    for p in pieces:
        if p.of is None:
            continue
        known, wanted = (p.at, p.of) if backward else (p.of, p.at)
        try:
            return _composed(p.loops, known, wanted, () if backward else source.shape)
        except (IndexMapError, IRError) as problem:
            reason = str(problem)
    raise NoCopy(f"no index map was found for the copy of {source.name}: {reason}")


def _composed(loops: Ranges, known: Sequence[Expr], wanted: Sequence[Expr], shape: Sequence[Expr]) -> IndexMap:
    """``wanted`` as a function of ``known``, both given over the loops."""
    old = list(loops)
    variables = tuple(Var.fresh(v.name, v.dtype) for v in old)
    shifted = {v: n + const(loops[v][0], v.dtype) if loops[v][0] else n for v, n in zip(old, variables, strict=True)}
    box = {n: (const(0, n.dtype), const(loops[v][1], n.dtype)) for v, n in zip(old, variables, strict=True)}
    first = tuple(simplify(substitute(e, shifted), box) for e in known)
    last = tuple(simplify(substitute(e, shifted), box) for e in wanted)
    extents = [loops[v][1] for v in old]
    if len({*first}) == len(first) and all(e in box for e in first):  # the indices are loops: nothing is to be solved
        rest = {v: const(0, v.dtype) for v in variables if v not in first}
        return _named(first, tuple(substitute(e, rest) for e in last), shape)
    inputs = tuple(Var.fresh(f"i{k}", e.dtype) for k, e in enumerate(first))
    try:
        found = IndexMap(variables, first).inverse(extents)
        solution = dict(zip(variables, found.apply(inputs), strict=True))
    except IndexMapError:  # not one to one on all of the loops, but for guards: some iteration for each element
        whole = Box(variables, tuple(const(e, v.dtype) for e, v in zip(extents, variables, strict=True)))
        solution = dict(zip(variables, isl.section(whole, first, inputs), strict=True))
    return _named(inputs, tuple(substitute(e, solution) for e in last), shape)


def _named(inputs: Sequence[Expr], outputs: Sequence[Expr], shape: Sequence[Expr]) -> IndexMap:
    """The map with inputs ``i0, i1, …``, simplified on the shape."""
    names = tuple(Var.fresh(f"i{k}", e.dtype) for k, e in enumerate(inputs))
    box = {v: (const(0, v.dtype), e) for v, e in zip(names, shape, strict=False)}
    renamed: dict[Any, Any] = dict(zip(inputs, names, strict=True))
    made = IndexMap(names, tuple(simplify(substitute(e, renamed), box) for e in outputs))
    return made if made.dtype is INT32 else parse_index_map(str(made))


def _exprs(loops: Ranges) -> dict[Var, tuple[Expr, Expr]]:
    return {v: (const(low, v.dtype), const(extent, v.dtype)) for v, (low, extent) in loops.items()}
