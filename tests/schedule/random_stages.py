"""Hypothesis strategies: programs of two or three stages over local buffers, and copies and moves to try on them.

A stage is a nest that fills a buffer from earlier ones: plain, guarded, in tiles, turned round, with a reduction, over
part of the buffer.  Most accesses are an offset from the loops, some are strided, turned round or fixed.  All indices
are in bounds; elements that no stage stored are undefined.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from verified_tir import Schedule

Draw = Callable[[st.SearchStrategy[Any]], Any]

SIZE = 12
"""Extent of every dimension."""


@dataclass(frozen=True)
class Stage:
    """A nest in the making: the buffer that it fills, its rank, and how far along each dimension."""

    name: str
    rank: int
    reach: int


def _index(draw: Draw, variable: str, last: int, reach: int) -> str:
    """An index that stays within ``reach`` elements, where the variable goes up to ``last``."""
    room = reach - 1 - last
    forms = ["plain"] * 4 + ["offset"] * (4 if room > 0 else 0) + ["turned"]
    forms += ["strided"] if 2 * last < reach else []
    forms += ["fixed"] if draw(st.integers(0, 3)) == 0 else []
    match draw(st.sampled_from(forms)):
        case "offset":
            return f"{variable} + {draw(st.integers(1, room))}"
        case "turned":
            return f"{last} - {variable}"
        case "strided":
            return f"{variable} * 2"
        case "fixed":
            return str(draw(st.integers(0, reach - 1)))
    return variable


def _load(draw: Draw, source: Stage, names: list[str], last: int) -> str:
    """A load of a source: of the stage's own dimensions in order, or turned."""
    used = names[::-1] if len(names) > 1 and draw(st.integers(0, 6)) == 0 else names
    parts = [_index(draw, used[d % len(used)], last, source.reach) for d in range(source.rank)]
    return f"{source.name}[{', '.join(parts)}]"


def _loops(draw: Draw, stage: Stage, names: list[str], extent: int) -> tuple[list[str], int, dict[str, str], str]:
    """The lines of a nest's loops, their depth, what the indices are called in it, and a guard."""
    lines: list[str] = []
    values: dict[str, str] = {}
    guards: list[str] = []
    for n in names:
        kind = draw(st.sampled_from(["plain"] * 3 + ["tiles", "more"]))
        depth = len(lines)
        if kind == "tiles":
            factor = draw(st.sampled_from([2, 3, 4]))
            lines.append("    " * depth + f"for {n}o in range({-(-extent // factor)}):")
            lines.append("    " * (depth + 1) + f"for {n}i in range({factor}):")
            values[n] = f"({n}o * {factor} + {n}i)"
            guards += [f"{values[n]} < {extent}"] if extent % factor else []
        else:
            more = draw(st.integers(1, 3)) if kind == "more" else 0
            lines.append("    " * depth + f"for {n} in range({extent + more}):")
            values[n] = n
            guards += [f"{n} < {extent}"] if more else []
    return lines, len(lines), values, " and ".join(guards)


def _stage(draw: Draw, number: int, sources: list[Stage], target: Stage) -> list[str]:
    """The lines of one stage."""
    names = [f"{'ijk'[d]}{number}" for d in range(target.rank)]
    extent = target.reach
    lines, depth, values, guard = _loops(draw, target, names, extent)
    loads = [_load(draw, draw(st.sampled_from(sources)), names, extent - 1) for _ in range(draw(st.integers(1, 2)))]
    if all(s.name not in "".join(loads) for s in sources[-1:]):
        loads[0] = _load(draw, sources[-1], names, extent - 1)
    first = draw(st.integers(0, SIZE - extent)) if draw(st.integers(0, 4)) == 0 else 0
    indices = [f"{n} + {first}" if first and d == 0 else n for d, n in enumerate(names)]
    element = f"{target.name}[{', '.join(indices)}]"
    if guard:
        lines.append("    " * depth + f"if {guard}:")
        depth += 1
    body = [f"{element} = {' + '.join(loads)}"]
    source = sources[-1]
    if draw(st.integers(0, 3)) == 0 and extent + 2 <= source.reach:
        k = f"r{number}"
        reduced = _renamed(_load(draw, source, names, extent + 1), names[0], f"({names[0]} + {k})")
        body = [f"{element} = T.float32(0)", f"for {k} in range(3):", f"    {element} = {element} + {reduced}"]
    text = [*lines, "    " * depth + f'with T.block("{target.name}"):', *("    " * (depth + 1) + b for b in body)]
    for n, v in values.items():
        if v != n:
            text = [t if t.lstrip().startswith("for ") and f"for {n}" in t else _renamed(t, n, v) for t in text]
    return text


def _renamed(line: str, name: str, value: str) -> str:
    return re.sub(rf"\b{name}\b", value, line)


@st.composite
def stages(draw: Draw) -> str:
    """The text of a program: A to t, perhaps to u, to B."""
    rank = draw(st.sampled_from([1, 1, 2]))
    reach = draw(st.integers(6, 10))
    names = ["t", "u", "B"] if draw(st.booleans()) else ["t", "B"]
    filled = [Stage("A", rank, SIZE)]
    lines: list[str] = []
    for number, name in enumerate(names):
        target = Stage(name, rank, reach)
        lines += _stage(draw, number, filled, target)
        filled.append(target)
        reach = max(2, reach - draw(st.sampled_from([0, 0, 1, 2, 3])))
    shape = ", ".join([str(SIZE)] * rank) + ("," if rank == 1 else "")
    local = [f'{n} = T.alloc_buffer(({shape}), "float32")' for n in names[:-1]]
    head = f'@T.prim_func\ndef f(A: T.Buffer(({shape}), "float32"), B: T.Buffer(({shape}), "float32")):\n'
    return head + "\n".join("    " + line for line in [*local, *lines]) + "\n"


@dataclass(frozen=True)
class Move:
    """A primitive on a block and a loop, by their numbers."""

    name: str
    block: int
    loop: int

    def take(self, s: Schedule) -> None:
        blocks, loops = s.blocks, s.loops()
        block, loop = blocks[self.block % len(blocks)], loops[self.loop % len(loops)]
        match self.name:
            case "compute_at":
                s.compute_at(block, loop)
            case "reverse_compute_at":
                s.reverse_compute_at(block, loop)
            case "cache_read":
                s.cache_read(block, 0, "local", loop if self.loop % 2 else None)
            case "cache_read_all":
                s.cache_read(s.buffers[self.block % len(s.buffers)], "local")
            case "cache_write":
                s.cache_write(block, 0, "local", loop if self.loop % 2 else None)
            case "set_scope":
                s.set_scope(block, 0, "shared")


NAMES = ("compute_at", "reverse_compute_at", "cache_read", "cache_read_all", "cache_write", "set_scope")


def moves(names: tuple[str, ...] = NAMES) -> st.SearchStrategy[Move]:
    """One step, on any block and any loop."""
    return st.builds(Move, st.sampled_from(names), st.integers(0, 4), st.integers(0, 9))
