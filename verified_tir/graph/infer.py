"""Layouts that go with a layout: from one parameter's index map to those of the others, by looking at the program.

No operator is known here.  Each store of the program says how an element of its buffer depends on elements of others:
``out[n, c, h, w] = max(out[n, c, h, w], x[n, c, 2*h + r, 2*w + s])``.  Where two buffers are indexed by the same
variable, the dimensions correspond, and a map of one gives a map of the other:

* an output of the map all of whose indices have a counterpart is taken over: ``c // 4`` of a bias that has a c;
* an index that stands alone may have a counterpart that merely moves with it, as a window does: ``h`` for ``2*h + r``;
* an output none of whose indices has a counterpart is left out, as for what is broadcast;
* dimensions of the other buffer that no output mentions (those of a reduction) stay, next to their neighbours.

What comes out is a proposal: the kernel proves the program that it leads to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, final

from verified_tir.graph.layouts import tile_of
from verified_tir.index.map import IndexMap, IndexMapError
from verified_tir.index.simplify import simplify
from verified_tir.index.text import index_text
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Binary, Expr, IntImm, Load, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Block, For, LetStmt, Stmt, Store
from verified_tir.ir.visit import free_vars, sub_statements, substitute, walk

Maps: TypeAlias = "dict[Buffer, IndexMap]"
Indices: TypeAlias = "tuple[Expr, ...]"


@final
@dataclass(frozen=True, slots=True)
class Relation:
    """A store and one of the loads that its value depends on, indexed by the loops around."""

    stored: Buffer
    at: Indices
    read: Buffer
    of: Indices


@final
@dataclass(slots=True)
class Inferred:
    """Maps of buffers, parameters and local ones; ``problems`` says why some have none."""

    maps: Maps
    problems: dict[Buffer, str] = field(default_factory=dict)


def infer(func: PrimFunc, given: Mapping[Buffer, IndexMap]) -> Inferred:
    """Maps for all buffers that are connected with the given ones; those keep theirs."""
    found = Inferred(dict(given))
    links = [r for r in relations(func) if r.read is not r.stored]
    waiting = list(given)
    while waiting:
        known = waiting.pop(0)
        for r in links:
            for source, at, target, of in ((r.stored, r.at, r.read, r.of), (r.read, r.of, r.stored, r.at)):
                if source is not known or target in found.maps:
                    continue
                made = carried(found.maps[known], at, of, target)
                if isinstance(made, str):
                    found.problems[target] = f"from {known.name} to {target.name}: {made}"
                else:
                    found.maps[target] = made
                    found.problems.pop(target, None)
                    waiting.append(target)
    return found


def relations(func: PrimFunc) -> list[Relation]:
    """Every pair of a store and a load that it depends on."""
    return list(_relations(func.body, {}, {}))


def _relations(stmt: Stmt, env: dict[Var, Expr], ranges: dict[Var, tuple[Expr, Expr]]) -> Iterator[Relation]:
    match stmt:
        case For(var=v, min=low, extent=IntImm(value=1)):
            env = env | {v: substitute(low, env)}
        case For(var=v, min=low, extent=extent):
            ranges = ranges | {v: (substitute(low, env), substitute(extent, env))}
        case Store(buffer=b, indices=indices, value=value):
            yield from _of_store(b, indices, value, env, ranges)
        case Block(iter_vars=iters):
            env = env | {i.var: substitute(i.value, env) for i in iters}
        case LetStmt(var=v, value=value):
            env = env | {v: substitute(value, env)}
    for s in sub_statements(stmt):
        yield from _relations(s, env, ranges)


def _of_store(
    b: Buffer, indices: Indices, value: Expr, env: Mapping[Var, Expr], ranges: Mapping[Var, tuple[Expr, Expr]]
) -> Iterator[Relation]:
    at = tuple(simplify(substitute(i, env), ranges) for i in indices)
    for n in walk(substitute(value, env)):
        if isinstance(n, Load):
            yield Relation(b, at, n.buffer, tuple(simplify(i, ranges) for i in n.indices))


# -- one step ----------------------------------------------------------------------------------------------------------


def carried(known: IndexMap, at: Indices, of: Indices, target: Buffer) -> IndexMap | str:
    """The map of ``target``, indexed by ``of``, that goes with the map of a buffer that is indexed by ``at``; or why
    there is none."""
    inputs = tuple(Var.fresh(f"i{k}", known.dtype) for k in range(len(of)))
    exact, moved = _counterparts(known, at, of)
    outputs: list[Expr] = []
    used: list[set[int]] = []
    for o in known.outputs:
        dims = [k for k, v in enumerate(known.inputs) if v in free_vars(o)]
        if all(d in exact for d in dims) and dims:
            outputs.append(substitute(o, {known.inputs[d]: inputs[exact[d]] for d in dims}))
            used.append({exact[d] for d in dims})
        elif len(dims) == 1 and o is known.inputs[dims[0]] and dims[0] in moved:
            outputs.append(inputs[moved[dims[0]]])
            used.append({moved[dims[0]]})
        elif any(d in exact or d in moved for d in dims):
            return _no_counterpart(known, o, next(d for d in dims if d not in exact), at, of)
    _leftover(inputs, outputs, used)
    made = IndexMap(inputs, tuple(outputs), known.separators if len(outputs) == len(known.outputs) else ())
    try:
        made.inverse(target.shape)
    except IndexMapError as problem:
        return str(problem)
    return made


def _no_counterpart(known: IndexMap, output: Expr, dim: int, at: Indices, of: Indices) -> str:
    """Why an index of a layout cannot be taken over: which dimension is missing on the other side."""
    there = f"it is [{', '.join(map(index_text, at))}] here and [{', '.join(map(index_text, of))}] there"
    what = f"axis {dim} ({index_text(at[dim])}) is in the layout's index {index_text(output)}"
    var, shift = _shifted(at[dim])
    for e, b in enumerate(of):
        other, by = _shifted(b)
        if var is not None and other is var:
            tiles = [t for t in _tiles(known, known.inputs[dim]) if (by - shift) % t]
            if tiles and max(tiles) < 2**31:
                apart = f"{abs(by - shift)} apart, no multiple of {max(tiles)}"
                return f"{what}, and axis {e} of the other is {apart}; {there}"
    seen = set(free_vars(at[dim]))
    parts = [str(e) for e, b in enumerate(of) if seen & set(free_vars(b))]
    if not parts:
        return f"{what}, and no axis of the other moves with it; {there}"
    mixed = f"{'axes' if len(parts) > 1 else 'axis'} {', '.join(parts)} of the other mix it with others"
    return f"{what}, and {mixed}; {there}"


def _counterparts(known: IndexMap, at: Indices, of: Indices) -> tuple[dict[int, int], dict[int, int]]:
    """For each dimension of one buffer that of the other with the same variable, or one that moves with it."""
    exact: dict[int, int] = {}
    moved: dict[int, int] = {}
    for d, a in enumerate(at):
        for e, b in enumerate(of):
            if e not in exact.values() and _corresponds(known, d, a, b):
                exact.setdefault(d, e)
    for d, a in enumerate(at):
        for e, b in enumerate(of):
            if d in exact or e in exact.values() or e in moved.values() or d in moved:
                continue
            alone = a if isinstance(a, Var) else b if isinstance(b, Var) else None
            other = b if alone is a else a
            if alone is not None and alone in free_vars(other):
                moved[d] = e
    return exact, moved


def _corresponds(known: IndexMap, dim: int, a: Expr, b: Expr) -> bool:
    """Whether two indices are one variable, or differ by a constant that moves whole tiles of the layout."""
    (va, ka), (vb, kb) = _shifted(a), _shifted(b)
    if va is None or va is not vb:
        return False
    shift = kb - ka
    return shift == 0 or all(shift % t == 0 for t in _tiles(known, known.inputs[dim]))


def _shifted(e: Expr) -> tuple[Var | None, int]:
    """A variable and a constant that is added to it."""
    match e:
        case Var():
            return e, 0
        case Binary(op="add", a=Var() as v, b=IntImm(value=k)) | Binary(op="add", a=IntImm(value=k), b=Var() as v):
            return v, k
        case Binary(op="sub", a=Var() as v, b=IntImm(value=k)):
            return v, -k
    return None, 0


def _tiles(known: IndexMap, v: Var) -> list[int]:
    """By what a map divides an index; more than any shift if it does something else with it."""
    return [tile_of(o, v) or 2**31 for o in known.outputs if o is not v and v in free_vars(o)]


def _leftover(inputs: tuple[Var, ...], outputs: list[Expr], used: list[set[int]]) -> None:
    """Dimensions that no output mentions stand after the first output of their left neighbour."""
    for d, v in enumerate(inputs):
        if any(d in u for u in used):
            continue
        place = next((k + 1 for k, u in enumerate(used) if d - 1 in u), 0)
        outputs.insert(place, v)
        used.insert(place, {d})
