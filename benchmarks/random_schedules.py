"""Random programs as text, and random steps for them: what a person might write, and try.

A program is a nest or two of loops over up to five buffers, with guards, reductions, labels, a local buffer, values
bound by lets, and indices read from memory under an assumption.  Some have an extent ``n``.  Buffers are just large
enough for the indices used; in one program of twenty, one is an element too small.

Everything is drawn from one ``random.Random``, so a seed names a program and its steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import Any

from verified_tir import Schedule
from verified_tir.ir.expr import Var
from verified_tir.ir.paths import places
from verified_tir.ir.stmt import For, Seq
from verified_tir.ir.visit import sub_statements
from verified_tir.script import tir as T

EXTENTS = (3, 2, 4, 5, 7, 8, 1)
BUFFERS = {"A": 2, "B": 1, "C": 2, "t": 1}
"""Names and ranks; ``A`` is mostly read, ``t`` is local."""
DTYPES = ("float32", "float32", "float32", "int32", "float16", "int8")

Size = tuple[int, int]
"""``(a, b)`` is ``a * n + b``."""


def larger(p: Size, q: Size) -> Size:
    """A size that is at least both."""
    return max(p[0], q[0]), max(p[1], q[1])


def text_of(size: Size) -> str:
    """The size in the program's words."""
    a, b = size
    if not a:
        return str(b)
    product = "n" if a == 1 else f"n * {a}"
    return product if not b else f"{product} + {b}"


@dataclass
class Writer:
    """A program in the making: its lines, and how far each buffer is used."""

    rng: Random
    dtype: str
    symbolic: bool
    lines: list[str] = field(default_factory=list)
    reach: dict[str, list[Size]] = field(default_factory=lambda: {b: [(0, 1)] * r for b, r in BUFFERS.items()})
    scope: list[tuple[str, Size]] = field(default_factory=list)
    """Loop variables in scope, with their greatest values."""
    names: int = 0
    local_written: bool = False
    local_read: bool = False
    gathers: bool = False

    def one(self, *choices: Any) -> Any:
        return self.rng.choice(choices)

    def chance(self, of: int) -> bool:
        return self.rng.randrange(of) == 0

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def name(self, letter: str) -> str:
        self.names += 1
        return f"{letter}{self.names}"

    def extent(self) -> Size:
        return (1, 0) if self.symbolic and self.chance(2) else (0, self.one(*EXTENTS))

    def index(self) -> tuple[str, Size]:
        """An index and its greatest value."""
        if not self.scope:
            k = self.one(0, 1, 2)
            return str(k), (0, k)
        name, (a, b) = self.one(*self.scope)
        form = self.one("v", "v", "v", "v", "v + 1", "v * 2", "v + w", "0")
        if form == "v + w":
            other, (c, d) = self.one(*self.scope)
            return f"{name} + {other}", (a + c, b + d)
        value = {"v": (a, b), "v + 1": (a, b + 1), "v * 2": (2 * a, 2 * b), "0": (0, 0)}[form]
        return form.replace("v", name), value

    def element(self, buffer: str) -> str:
        parts = []
        for k in range(BUFFERS[buffer]):
            text, (a, b) = self.index()
            self.reach[buffer][k] = larger(self.reach[buffer][k], (a, max(b + 1, 0)))
            parts.append(text)
        return f"{buffer}[{', '.join(parts)}]"

    def number(self) -> str:
        return f"T.{self.dtype}({self.one(0, 1, 2)})"

    def value(self, depth: int = 1) -> str:
        if depth == 0 or self.chance(2):
            source = self.one("A", "A", "C", "B", "t" if self.local_written else "A", "1", "I")
            if source == "I" and self.chance(2):
                self.gathers = True
                self.reach["B"][0] = larger(self.reach["B"][0], (0, 4))
                return f"B[I[{self.one(0, 1, 2)}]]"
            return self.number() if source == "1" else self.element("A" if source == "I" else source)
        op = self.one("+", "*", "max", "-", "if")
        a, b = self.value(depth - 1), self.value(depth - 1)
        if op == "max":
            return f"T.max({a}, {b})"
        return f"T.if_then_else({self.condition()}, {a}, {b})" if op == "if" else f"({a} {op} {b})"

    def condition(self) -> str:
        if self.chance(3):
            return f"{self.element(self.one('A', 'B', 'C'))} > {self.number()}"
        text, _ = self.index()
        return str(self.one(f"{text} < 3", f"{text} >= 1", f"({text}) % 2 == 0", f"({text}) != 2"))

    def store(self, depth: int) -> None:
        buffer = self.one("B", "B", "C", "C", "t")
        target = self.element(buffer)
        value = self.value()
        if self.chance(3) and (buffer != "t" or self.local_written):
            value = f"{target} + {value}"
        self.local_written |= buffer == "t"
        self.local_read |= buffer != "t" and "t[" in value
        if self.chance(3):
            self.line(depth, f'with T.block("{self.name("s")}"):')
            depth += 1
        if self.chance(6):
            bound = self.name("x")
            self.line(depth, f"{bound}: T.let[T.{self.dtype}] = {value}")
            value = bound
        self.line(depth, f"{target} = {value}")
        if buffer == "t" and self.chance(2):
            self.line(depth, f"{self.element('B')} = {target}")
            self.local_read = True

    def reduction(self, depth: int) -> None:
        """A block with an initialisation, over one spatial and one reduction axis."""
        i, k = self.name("i"), self.name("k")
        n, m = self.extent(), self.extent()
        summed = self.chance(2)
        self.line(depth, f"for {i}, {k} in T.grid({text_of(n)}, {text_of(m)}):")
        self.line(depth + 1, f'with T.block("{self.name("s")}"):')
        self.line(depth + 2, f'vi, vk = T.axis.remap("SR", [{i}, {k}])')
        self.line(depth + 2, "with T.init():")
        self.line(depth + 3, f"B[vi] = T.{self.dtype}({0 if summed else -9})")
        self.reach["A"] = [larger(self.reach["A"][0], n), larger(self.reach["A"][1], m)]
        self.reach["B"][0] = larger(self.reach["B"][0], n)
        self.line(depth + 2, "B[vi] = B[vi] + A[vi, vk]" if summed else "B[vi] = T.max(B[vi], A[vi, vk])")

    def loop(self, depth: int, nesting: int) -> None:
        name = self.name(self.one("i", "j", "k"))
        low, (a, b) = self.one(0, 0, 0, 1), self.extent()
        high = text_of((a, b + low))
        self.line(depth, f"for {name} in range({low}, {high}):" if low else f"for {name} in range({high}):")
        self.scope.append((name, (a, b + low - 1)))
        self.body(depth + 1, nesting - 1)
        self.scope.pop()

    def statement(self, depth: int, nesting: int) -> None:
        kind = self.one("store", "for", "for", "if") if nesting > 0 else "store"
        if kind == "store":
            self.store(depth)
        elif kind == "for":
            self.loop(depth, nesting)
        else:
            self.line(depth, f"if {self.condition()}:")
            self.body(depth + 1, nesting - 1)

    def body(self, depth: int, nesting: int) -> None:
        for _ in range(self.one(1, 1, 1, 2, 3)):
            self.statement(depth, nesting)


def program(rng: Random) -> str:
    """The text of a program."""
    w = Writer(rng, rng.choice(DTYPES), rng.randrange(4) == 0)
    for _ in range(w.one(1, 1, 2)):
        if w.chance(4):
            w.reduction(1)
        else:
            w.loop(1, 3)
    local = text_of(w.reach["t"][0])
    if w.local_written and not w.local_read:  # a local buffer that reaches no argument would make every step right
        w.line(1, f"for q in range({local}):")
        w.line(2, "D[q] = t[q]")
    if w.chance(20):
        short = w.one("A", "B", "C")
        w.reach[short] = [(a, b - 1) if b > 1 else (a, b) for a, b in w.reach[short]]
    body = "\n".join(w.lines)
    dims = {b: [text_of(size) for size in sizes] for b, sizes in w.reach.items()} | {"D": [local]}
    params = [f'{b}: T.Buffer(({", ".join(dims[b])},), "{w.dtype}")' for b in "ABCD" if f"{b}[" in body]
    head = f'    t = T.alloc_buffer(({local},), "{w.dtype}")\n' if "t[" in body else ""
    if w.gathers:
        params.append('I: T.Buffer((3,), "int32")')
        head = f"    for g in range(3):\n        T.assume(0 <= I[g] and I[g] < 4)\n{head}"
    params += ["n: T.int32"] if w.symbolic else []
    return f"@T.prim_func\ndef f({', '.join(params)}):\n{head}{body}\n"


# -- steps -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """A primitive with arguments: loops by their number in the program, blocks and buffers likewise."""

    name: str
    picks: tuple[int, ...]
    extra: Any = None

    def take(self, s: Schedule) -> object:
        """Apply the step, to whatever its numbers mean in this schedule.

        :raises ScheduleError: if it is refused.
        """
        loops: list[Any] = list(s.loops()) or ["none"]
        chosen = [loops[k % len(loops)] for k in self.picks]
        pairs = {"merge_loops": _siblings, "fuse": _nested, "tile": _nested}.get(self.name)
        if pairs is not None and self.picks[0] % 4:
            found = pairs(s)
            chosen = list(found[self.picks[0] % len(found)]) if found else chosen
        return PRIMITIVES[self.name](s, chosen, self.extra)

    def __str__(self) -> str:
        return f"{self.name}{self.picks}" + ("" if self.extra is None else f" {self.extra}")


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


def _once(loops: list[Var]) -> list[Var]:
    return list(dict.fromkeys(loops))


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
PADDINGS: dict[str, Any] = {"none": None, "zero": 0, "undef": T.undef(), "one": lambda *i: 1, "low": -9}


def _buffer(s: Schedule, k: int) -> Any:
    return s.buffers[k % len(s.buffers)]


def _transform(s: Schedule, extra: tuple[int, int, str]) -> None:
    buffer = _buffer(s, extra[0])
    maps = MAPS.get(len(buffer.shape))
    index_map = maps[extra[1] % len(maps)] if maps else (lambda *i: list(i))
    s.transform_layout(buffer, index_map, pad_value=PADDINGS[extra[2]])


def _decompose(s: Schedule, loops: list[Var], k: int) -> object:
    return s.decompose_reduction(s.blocks[k % len(s.blocks)] if s.blocks else "none", loops[0])


PRIMITIVES: dict[str, Callable[[Schedule, list[Var], Any], object]] = {
    "split": lambda s, v, x: s.split(v[0], x),
    "fuse": lambda s, v, x: s.fuse(*_once(v)),
    "reorder": lambda s, v, x: s.reorder(*_once(v)),
    "tile": lambda s, v, x: s.tile(*_once(v), factors=x[: len(_once(v))]),
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
    "decompose_reduction": _decompose,
    "remove_branching_through_overcompute": lambda s, v, x: s.remove_branching_through_overcompute(),
    "simplify": lambda s, v, x: s.simplify(),
}
"""Each primitive with the schedule, the loops picked, and what else it takes."""

FACTORS = ([None, 2], [None, 3], [2, None], [None, 2, 2], [1, None], [None, 9], [3, 2], [None, 4])
EXTRA: dict[str, Callable[[Random], Any]] = {
    "split": lambda rng: rng.choice(FACTORS),
    "tile": lambda rng: rng.choice([(2, 2, 2), (3, 2, 4), (1, 4, 2)]),
    "partition": lambda rng: rng.randint(0, 6),
    "peel": lambda rng: rng.random() < 0.5,
    "fission": lambda rng: rng.choice([1, 1, 2, 3]),
    "bind": lambda rng: rng.choice(["threadIdx.x", "blockIdx.x"]),
    "transform_layout": lambda rng: (rng.randint(0, 7), rng.randint(0, 5), rng.choice(list(PADDINGS))),
    "sequential_buffer_access": lambda rng: rng.randint(0, 7),
    "decompose_reduction": lambda rng: rng.randint(0, 7),
}
LOOPS = {"fuse": (2, 2), "reorder": (2, 3), "tile": (1, 2), "merge_loops": (2, 2)}


def step(rng: Random, names: tuple[str, ...] = tuple(PRIMITIVES)) -> Step:
    """One step; one over several loops names neighbours more often than not."""
    name = rng.choice(names)
    count = rng.randint(*LOOPS.get(name, (1, 1)))
    first = rng.randint(0, 11)
    if name in ("fuse", "tile", "merge_loops") or rng.random() < 0.5:
        picks = tuple(first + k for k in range(count))
        if name == "reorder":
            picks = picks[::-1]
    else:
        picks = tuple(rng.randint(0, 11) for _ in range(count))
    return Step(name, picks, EXTRA[name](rng) if name in EXTRA else None)
