"""Hypothesis strategies: small programs, and steps that a person might try on them.

Programs are nests of one to three loops with guards, reductions, several statements, labels and a local buffer; the
buffers are just large enough for the indices used.  Steps name loops, blocks and buffers that are there, mostly in a
sensible way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from verified_tir import Schedule
from verified_tir.ir.expr import Var
from verified_tir.ir.paths import places
from verified_tir.ir.stmt import For, Seq
from verified_tir.ir.visit import sub_statements
from verified_tir.script import tir as T

Draw = Callable[[st.SearchStrategy[Any]], Any]

EXTENTS = (3, 2, 4, 5, 7, 1)
BUFFERS = {"A": 2, "B": 1, "C": 2, "t": 1}
"""Names and ranks; ``A`` is mostly read, ``t`` is local."""


# -- programs ----------------------------------------------------------------------------------------------------------


@dataclass
class _Writer:
    """A program in the making: its lines, and how far each buffer is used."""

    draw: Draw
    dtype: str
    lines: list[str] = field(default_factory=list)
    reach: dict[str, list[int]] = field(default_factory=lambda: {b: [1] * r for b, r in BUFFERS.items()})
    scope: list[tuple[str, int]] = field(default_factory=list)
    loops: int = 0
    blocks: int = 0
    local_written: bool = False
    local_read: bool = False

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def one(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def index(self) -> tuple[str, int]:
        """An index and its greatest value."""
        if not self.scope:
            k = self.one(0, 1, 2)
            return str(k), k
        name, last = self.draw(st.sampled_from(self.scope))
        form = self.one("v", "v", "v", "v", "v + 1", "v * 2", "v + w", "0")
        if form == "v + w":
            other, far = self.draw(st.sampled_from(self.scope))
            return f"{name} + {other}", last + far
        value = {"v": last, "v + 1": last + 1, "v * 2": 2 * last, "0": 0}[form]
        return form.replace("v", name), value

    def element(self, buffer: str, same: str | None = None) -> str:
        parts = []
        for k in range(BUFFERS[buffer]):
            text, last = self.index()
            self.reach[buffer][k] = max(self.reach[buffer][k], last + 1)
            parts.append(text)
        return same or f"{buffer}[{', '.join(parts)}]"

    def value(self, depth: int = 1) -> str:
        if depth == 0 or self.one(True, False):
            source = self.one("A", "A", "C", "B", "t" if self.local_written else "A", "1")
            return f"T.{self.dtype}({self.one(0, 1, 2)})" if source == "1" else self.element(source)
        op = self.one("+", "*", "max")
        a, b = self.value(depth - 1), self.value(depth - 1)
        return f"T.max({a}, {b})" if op == "max" else f"({a} {op} {b})"

    def store(self, depth: int) -> None:
        buffer = self.one("B", "B", "C", "C", "t")
        target = self.element(buffer)
        value = self.value()
        if self.one("set", "set", "add") == "add" and (buffer != "t" or self.local_written):
            value = f"{target} + {value}"
        self.local_written |= buffer == "t"
        self.local_read |= buffer != "t" and "t[" in value
        if self.one(True, False, False):
            self.line(depth, f'with T.block("s{self.blocks}"):')
            self.blocks += 1
            depth += 1
        self.line(depth, f"{target} = {value}")
        if buffer == "t" and self.one(True, False):
            self.line(depth, f"{self.element('B')} = {target}")
            self.local_read = True

    def reduction(self, depth: int) -> None:
        """A block with an initialisation, over one spatial and one reduction axis."""
        i, k = f"i{self.loops}", f"k{self.loops}"
        self.loops += 1
        n, m = self.one(*EXTENTS), self.one(*EXTENTS)
        op = self.one("sum", "max")
        self.line(depth, f"for {i}, {k} in T.grid({n}, {m}):")
        self.line(depth + 1, f'with T.block("s{self.blocks}"):')
        self.blocks += 1
        self.line(depth + 2, f'vi, vk = T.axis.remap("SR", [{i}, {k}])')
        self.line(depth + 2, "with T.init():")
        self.line(depth + 3, f"B[vi] = T.{self.dtype}({0 if op == 'sum' else -9})")
        element = "A[vi, vk]"
        self.reach["A"] = [max(self.reach["A"][0], n), max(self.reach["A"][1], m)]
        self.reach["B"][0] = max(self.reach["B"][0], n)
        self.line(depth + 2, f"B[vi] = B[vi] + {element}" if op == "sum" else f"B[vi] = T.max(B[vi], {element})")

    def loop(self, depth: int, nesting: int) -> None:
        name = f"{self.one('i', 'j', 'k')}{self.loops}"
        self.loops += 1
        low, extent = self.one(0, 0, 0, 1), self.one(*EXTENTS)
        self.line(depth, f"for {name} in range({low}, {low + extent}):" if low else f"for {name} in range({extent}):")
        self.scope.append((name, low + extent - 1))
        self.body(depth + 1, nesting - 1)
        self.scope.pop()

    def statement(self, depth: int, nesting: int) -> None:
        kind = self.one("store", "for", "for", "if") if nesting > 0 else "store"
        if kind == "store":
            self.store(depth)
        elif kind == "for":
            self.loop(depth, nesting)
        else:
            text, _ = self.index()
            condition = self.one(f"{text} < 3", f"{text} >= 1", f"({text}) % 2 == 0", f"({text}) != 2")
            self.line(depth, f"if {condition}:")
            self.body(depth + 1, nesting - 1)

    def body(self, depth: int, nesting: int) -> None:
        for _ in range(self.one(1, 1, 1, 2, 3)):
            self.statement(depth, nesting)


@st.composite
def programs(draw: Draw) -> str:
    """The text of a program."""
    w = _Writer(draw, draw(st.sampled_from(["float32", "float32", "int32"])))
    w.line(1, f't = T.alloc_buffer((T_0,), "{w.dtype}")')
    for _ in range(draw(st.sampled_from([1, 1, 2]))):
        if draw(st.integers(0, 3)) == 0:
            w.reduction(1)
        else:
            w.loop(1, 3)
    if w.local_written and not w.local_read:  # a local buffer that reaches no argument would make every step right
        w.line(1, "for q in range(T_0):")
        w.line(2, "D[q] = t[q]")
    shapes = {b: ", ".join(map(str, dims)) + ("," if len(dims) == 1 else "") for b, dims in w.reach.items()}
    shapes["D"] = shapes["t"]
    used = [b for b in ("A", "B", "C", "D") if any(f"{b}[" in line for line in w.lines)]
    params = ", ".join(f'{b}: T.Buffer(({shapes[b]}), "{w.dtype}")' for b in used)
    body = "\n".join(w.lines).replace("T_0,", shapes["t"]).replace("T_0", str(w.reach["t"][0]))
    return f"@T.prim_func\ndef f({params}):\n{body}\n"


# -- steps -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """A primitive with arguments: loops by their number in the program, blocks and buffers likewise."""

    name: str
    picks: tuple[int, ...]
    extra: Any = None

    def take(self, s: Schedule) -> object:
        """Apply the step, to whatever its numbers mean in this schedule."""
        loops: list[Any] = list(s.loops()) or ["none"]
        chosen = [loops[k % len(loops)] for k in self.picks]
        pairs = {"merge_loops": _siblings, "fuse": _nested, "tile": _nested}.get(self.name)
        if pairs is not None and self.picks[0] % 4:
            found = pairs(s)
            chosen = list(found[self.picks[0] % len(found)]) if found else chosen
        return _STEPS[self.name](s, list(dict.fromkeys(chosen)) if self.name != "merge_loops" else chosen, self.extra)

    def __str__(self) -> str:
        return f"{self.name}{self.picks} {self.extra if self.extra is not None else ''}".rstrip()


def _siblings(s: Schedule) -> list[tuple[Var, Var]]:
    """Adjacent loops."""
    found = []
    for _, stmt in places(s.func.body, lambda n: isinstance(n, Seq)):
        subs = sub_statements(stmt)
        found += [(a.var, b.var) for a, b in pairwise(subs) if isinstance(a, For) and isinstance(b, For)]
    return found


def _nested(s: Schedule) -> list[tuple[Var, Var]]:
    """Loops directly inside another."""
    loops = [n for _, n in places(s.func.body, lambda n: isinstance(n, For)) if isinstance(n, For)]
    return [(a.var, a.body.var) for a in loops if isinstance(a.body, For)]


def _block(s: Schedule, k: int) -> str:
    return s.blocks[k % len(s.blocks)] if s.blocks else "none"


def _buffer(s: Schedule, k: int) -> Any:
    return s.buffers[k % len(s.buffers)]


MAPS: dict[int, tuple[Callable[..., Any], ...]] = {
    1: (
        lambda i: [i // 4, i % 4],
        lambda i: [(i + 1) // 2, (i + 1) % 2],
        lambda i: [i + 1],
        lambda i: [i % 2, i // 2],
        lambda i: [i // 2],
        lambda i: [i * 2],
    ),
    2: (
        lambda i, j: [j, i],
        lambda i, j: [i, j // 4, j % 4],
        lambda i, j: [i // 2, j // 2, i % 2, j % 2],
        lambda i, j: [i, i + j],
        lambda i, j: [i + j, j],
        lambda i, j: [i],
    ),
    3: (lambda i, j, k: [k, i, j], lambda i, j, k: [i, j, k // 3, k % 3]),
}
PADDINGS: dict[str, Any] = {"none": None, "zero": 0, "undef": T.undef(), "index": lambda *i: 1, "low": -9}


def _transform(s: Schedule, extra: tuple[int, int, str]) -> None:
    buffer = _buffer(s, extra[0])
    maps = MAPS.get(len(buffer.shape))
    index_map = maps[extra[1] % len(maps)] if maps else (lambda *i: list(i))
    s.transform_layout(buffer, index_map, pad_value=PADDINGS[extra[2]])


_STEPS: dict[str, Callable[[Schedule, list[Var], Any], object]] = {
    "split": lambda s, v, x: s.split(v[0], x),
    "fuse": lambda s, v, x: s.fuse(*v),
    "reorder": lambda s, v, x: s.reorder(*v),
    "tile": lambda s, v, x: s.tile(*v, factors=x[: len(v)]),
    "partition": lambda s, v, x: s.partition(v[0], x),
    "peel": lambda s, v, x: s.peel(v[0], end=x),
    "fission": lambda s, v, x: s.fission(v[0], x),
    "merge_loops": lambda s, v, x: s.merge_loops(v[0], v[-1]),
    "remove_loop": lambda s, v, x: s.remove_loop(v[0]),
    "parallel": lambda s, v, x: s.parallel(v[0]),
    "vectorize": lambda s, v, x: s.vectorize(v[0]),
    "unroll": lambda s, v, x: s.unroll(v[0]),
    "bind": lambda s, v, x: s.bind(v[0], x),
    "sink_allocation": lambda s, v, x: s.sink_allocation("t"),
    "transform_layout": lambda s, v, x: _transform(s, x),
    "sequential_buffer_access": lambda s, v, x: s.sequential_buffer_access(_buffer(s, x)),
    "decompose_reduction": lambda s, v, x: s.decompose_reduction(_block(s, x), v[0]),
    "remove_branching_through_overcompute": lambda s, v, x: s.remove_branching_through_overcompute(),
    "simplify": lambda s, v, x: s.simplify(),
}

_pick = st.integers(0, 11)
_FACTORS = ([None, 2], [None, 3], [2, None], [None, 2, 2], [1, None], [None, 9], [3, 2], [None, 4])
_EXTRA: dict[str, st.SearchStrategy[Any]] = {
    "split": st.sampled_from(_FACTORS),
    "tile": st.sampled_from([(2, 2, 2), (3, 2, 4), (1, 4, 2)]),
    "partition": st.integers(0, 6),
    "peel": st.booleans(),
    "fission": st.sampled_from([1, 1, 2, 3]),
    "bind": st.sampled_from(["threadIdx.x", "blockIdx.x"]),
    "transform_layout": st.tuples(st.integers(0, 7), st.integers(0, 5), st.sampled_from(list(PADDINGS))),
    "sequential_buffer_access": st.integers(0, 7),
    "decompose_reduction": st.integers(0, 7),
}
_LOOPS = {"fuse": (2, 2), "reorder": (2, 3), "tile": (1, 2), "merge_loops": (2, 2)}


@st.composite
def steps(draw: Draw, names: Sequence[str] = ()) -> Step:
    """One step (among those of the given names); one over several loops names neighbours more often than not."""
    name = draw(st.sampled_from(names or list(_STEPS)))
    low, high = _LOOPS.get(name, (1, 1))
    count = draw(st.integers(low, high))
    first = draw(_pick)
    if name in ("fuse", "tile", "merge_loops") or draw(st.booleans()):
        picks = tuple(first + k for k in range(count))
        if name == "reorder":
            picks = picks[::-1]
    else:
        picks = tuple(draw(_pick) for _ in range(count))
    extra = draw(_EXTRA[name]) if name in _EXTRA else None
    return Step(name, picks, extra)
