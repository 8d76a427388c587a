"""Where a counterexample touches memory: on the layout of the buffer, if a step changed it, or on the buffer itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, final

from verified_tir.explain.drawing import Drawing
from verified_tir.explain.grids import Marks, array_grid, draw, layout_grids
from verified_tir.explain.relaid import Relaid, as_wanted, layout_of, shown, sizes_of, values_at
from verified_tir.explain.touched import Around, Index, elements_at
from verified_tir.index.evaluate import evaluate
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Var
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import at
from verified_tir.ir.stmt import Stmt
from verified_tir.ir.visit import free_vars
from verified_tir.schedule.errors import Refuted

MOST = 4
"""How many buffers are shown, and how many elements of one may be touched: more tell nothing."""

Touched: TypeAlias = "dict[Buffer, dict[Index, set[str]]]"
"""Elements by their buffers, each with what is done to it: ``"read"``, ``"write"``."""


@final
@dataclass(frozen=True, slots=True)
class Witnessed:
    """The elements of a buffer that the refused statement touches under the counterexample, and their picture."""

    buffer: str
    sentence: str
    drawings: tuple[Drawing, ...]


def witnessed(refused: Refuted, relaid: Mapping[Buffer, Relaid]) -> Iterator[Witnessed]:
    """The elements that a counterexample is about, buffer by buffer; nothing where arithmetic does not tell.

    :param relaid: the changed layouts of buffers.
    """
    if refused.obligation is not None and refused.obligation.name == "layout" and refused.programs is not None:
        for m in refused.programs.maps:
            yield from _mapped(as_wanted(m), refused.counterexample)
        return
    if not refused.counterexample or not refused.place:
        return
    try:
        stmt, around = _place(refused.program.body, refused.place)
    except IRError:
        return
    iterations = list(_iterations(refused.counterexample))
    each = [_touched(stmt, around, values) for values in iterations]
    found = each[0] if len(each) == 1 else _conflicts(*each)
    few = [(b, touched) for b, touched in found.items() if len(touched) <= MOST]
    few.sort(key=lambda x: x[0] not in relaid)
    for buffer, touched in few[:MOST]:
        drawings = _drawings(buffer, touched, relaid.get(buffer), iterations[0])
        if drawings:
            yield Witnessed(buffer.name, _sentence(buffer, touched, iterations), drawings)


def _mapped(r: Relaid, values: Mapping[str, int]) -> Iterator[Witnessed]:
    """An element that a refused layout sends where it must not be."""
    sizes = {v: values[v.name] for e in r.before.shape for v in free_vars(e) if v.name in values}
    if any(v.name not in values for v in r.layout.inputs):
        return
    x = tuple(values[v.name] for v in r.layout.inputs)
    try:
        (y,) = values_at(r.layout.outputs, r.layout.inputs, [x], sizes)
    except IRError:
        return
    layout = layout_of(r, sizes, [y], [x])
    if layout is None:
        return
    before, after = layout_grids(layout, Marks(wrong=frozenset([y])))
    others = [_element(r.before, i) for i, place in layout.places.items() if place == y and i != x]
    there = f", as {', '.join(others[:MOST])}" if others else ""
    outside = "" if _is_inside(y, r.after, values) else ", outside of the new shape"
    sentence = f"{_element(r.before, x)} is mapped to {_element(r.after, y)}{there}{outside}"
    yield Witnessed(r.before.name, sentence, (draw(before), draw(after)))


def _element(buffer: Buffer, index: Index) -> str:
    return f"{buffer.name}[{', '.join(map(str, index))}]"


def _is_inside(index: Index, buffer: Buffer, values: Mapping[str, int]) -> bool:
    shape = _shape(buffer, values)
    return shape is None or all(0 <= k < n for k, n in zip(index, shape, strict=True))


def _touched(stmt: Stmt, around: Around, values: Mapping[str, int]) -> Touched:
    found: dict[Buffer, dict[Index, set[str]]] = {}
    for buffer, index, write in elements_at(stmt, around, values):
        found.setdefault(buffer, {}).setdefault(index, set()).add("write" if write else "read")
    return found


def _conflicts(first: Touched, second: Touched) -> Touched:
    """Where two iterations meet, one of them writing."""
    both = {
        b: {i: kinds | second[b][i] for i, kinds in touched.items() if i in second[b]}
        for b, touched in first.items()
        if b in second
    }
    met = {b: {i: kinds for i, kinds in touched.items() if "write" in kinds} for b, touched in both.items()}
    return {b: touched for b, touched in met.items() if touched}


def _place(root: Stmt, path: tuple[int, ...]) -> tuple[Stmt, Around]:
    """The statement at a place, and what is around it."""
    around = Around()
    for step in path:
        sub = at(root, (step,))
        around = around.entered(root, sub)
        root = sub
    return root, around


def _iterations(counterexample: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """The values of the variables; a second iteration has those with a prime, and else the same."""
    first = {n: x for n, x in counterexample.items() if not n.endswith("'")}
    yield first
    if len(first) < len(counterexample):
        yield {**first, **{n.rstrip("'"): x for n, x in counterexample.items() if n.endswith("'")}}


def _sentence(buffer: Buffer, touched: Mapping[Index, set[str]], iterations: Sequence[Mapping[str, int]]) -> str:
    who, s = ("the statement", "s") if len(iterations) == 1 else ("the two iterations", "")
    elements = [
        f"{' and '.join(f'{kind}{s}' for kind in sorted(kinds))} {_element(buffer, i)}"
        f"{'' if _is_inside(i, buffer, iterations[0]) else ', which is outside'}"
        for i, kinds in sorted(touched.items())
    ]
    return f"with these values, {who} {', '.join(elements)}"


def _drawings(
    buffer: Buffer, touched: Mapping[Index, set[str]], relaid: Relaid | None, values: Mapping[str, int]
) -> tuple[Drawing, ...]:
    wrong = Marks(wrong=frozenset(touched))
    if relaid is not None:
        needed = {v for e in (*relaid.before.shape, *relaid.after.shape, *relaid.layout.outputs) for v in free_vars(e)}
        own = {*relaid.layout.inputs, *relaid.layout.inverse_inputs}
        sizes = {v: values[v.name] for v in needed - own if v.name in values}
        layout = layout_of(relaid, sizes or sizes_of(relaid, ()) or {}, touched)
        if layout is not None:
            before, after = layout_grids(layout, wrong, ("logical", "in memory"))
            return draw(before), draw(after)
    shape = _shape(buffer, values)
    if shape is None:
        return ()
    names = [f"{k}" for k in range(len(shape))]
    texts = {i: "/".join(k[0] for k in sorted(kinds)) for i, kinds in touched.items()}
    title = f"{buffer.name}: {' × '.join(map(str, shape))}"
    inside = frozenset(i for i in touched if _is_inside(i, buffer, values))
    grid = array_grid(
        title, names, shape, shown(shape, touched), texts, inside, wrong, f"{buffer.name}, a cell an element."
    )
    return (draw(grid),)


def _shape(buffer: Buffer, values: Mapping[str, int]) -> tuple[int, ...] | None:
    given: dict[Var, int] = {v: values[v.name] for e in buffer.shape for v in free_vars(e) if v.name in values}
    try:
        found = tuple(int(x) for x in evaluate(buffer.shape, given))
    except (IRError, OverflowError):
        return None
    return found if found and all(n > 0 for n in found) else None
