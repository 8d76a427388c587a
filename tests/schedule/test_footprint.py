"""domain_touched: which elements of a buffer are touched; compared with what the interpreter touches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from tests.nightly import few
from tests.schedule.schedule_programs import PROGRAMS, program
from tests.schedule.schedule_strategies import programs
from verified_tir import Schedule, domain_touched, parse_func
from verified_tir.index.evaluate import evaluate
from verified_tir.ir.node import IRError
from verified_tir.ir.visit import free_vars
from verified_tir.semantics.interpreter import run
from verified_tir.semantics.memory import View

Log = dict[tuple[str, bool], set[tuple[int, ...]]]


@contextmanager
def logged(monkeypatch: pytest.MonkeyPatch) -> Iterator[Log]:
    """What the interpreter reads (False) and writes (True), by the buffer's name."""
    log: Log = {}
    load, store = View.load, View.store

    def loading(self: View, indices: Any) -> Any:
        log.setdefault((self.name, False), set()).add(tuple(int(i) for i in indices))
        return load(self, indices)

    def storing(self: View, indices: Any, value: Any) -> None:
        log.setdefault((self.name, True), set()).add(tuple(int(i) for i in indices))
        store(self, indices, value)

    with monkeypatch.context() as patch:
        patch.setattr(View, "load", loading)
        patch.setattr(View, "store", storing)
        yield log


def touched(text: str, monkeypatch: pytest.MonkeyPatch, **sizes: int) -> Log:
    """What a run of the program touches, on arrays of ones."""
    func = parse_func(text)
    arguments: dict[str, Any] = dict(sizes)
    for buffer in func.buffers:
        shape = [int(evaluate([e], {v: sizes[v.name] for v in free_vars(e)})[0]) for e in buffer.shape]
        arguments[buffer.name] = np.ones(shape, str(buffer.dtype))
    with logged(monkeypatch) as log:
        run(func, arguments)
    return log


def compare(text: str, monkeypatch: pytest.MonkeyPatch, **sizes: int) -> list[bool]:
    """For every buffer, reads and writes apart: nothing is left out, and nothing is added if it is called exact."""
    log = touched(text, monkeypatch, **sizes)
    s = Schedule(text)
    found = []
    for buffer in s.buffers:
        for write in (False, True):
            domain = domain_touched(s, buffer, reads=not write, writes=write)
            elements = domain.elements(dict(sizes))
            seen = log.get((buffer.name, write), set())
            assert elements >= seen, f"{domain}: {seen - elements}"
            if domain.exact:
                assert elements == seen, f"{domain}: {elements - seen}"
            _ranges_are_tight(domain, elements, dict(sizes))
            found.append(domain.exact)
    return found


def _ranges_are_tight(domain: Any, elements: set[tuple[int, ...]], sizes: dict[str, int]) -> None:
    """Of constant domains the ranges are those of the elements."""
    if sizes or not elements:
        return
    for d, (low, count) in enumerate(domain.ranges):
        here = {e[d] for e in elements}
        assert (low.value, low.value + count.value) == (min(here), max(here) + 1)


CONSTANT = sorted(n for n, text in PROGRAMS.items() if "T.handle" not in text and '("' not in text)


@pytest.mark.sample(22)
@pytest.mark.parametrize("name", CONSTANT)
def test_what_the_interpreter_touches(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compare(program(name), monkeypatch)


@pytest.mark.sample(13)
@pytest.mark.parametrize("n", [0, 1, 2, 5, 8])
@pytest.mark.parametrize("name", ["strided", "two_parts", "halves", "windows", "beside"])
def test_symbolic_sizes(name: str, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(compare(SYMBOLIC.format(body=BODIES[name]), monkeypatch, n=n))


SYMBOLIC = """
@T.prim_func
def f(A: T.Buffer(("3 * n + 4",), "float32"), B: T.Buffer(("n", 6), "float32"), n: T.int32):
{body}
"""
BODIES = {
    "strided": "    for i in range(n):\n        A[3 * i + 2] = A[i]",
    "two_parts": "    for i in range(n + 2):\n        A[i if i < n else i + n] = 1.0",
    "halves": "    for i, j in T.grid(n, 3):\n        B[i, j * 2] = B[n - 1 - i, 5 - j]",
    "windows": "    for i, j in T.grid(n, 3):\n        A[i + j] = A[2 * i + j] + 1.0",
    # Without rows the first loop touches nothing, and so has no j; the second one touches two elements all the same.
    "beside": "    for i, j in T.grid(n, n):\n        A[i + j] = 0.0\n    for i in range(2):\n        A[i] = 1.0",
}


@pytest.mark.parametrize(
    ("name", "buffer", "options", "text"),
    [
        ("convolution", "A", {}, "A[i0] where i0 in range(16)"),
        ("convolution", "A", {"loop": "f"}, "A[i0] where i0 in range(i, i + 3)"),
        ("convolution", "B", {"loop": "f"}, "B[i0] where i0 in range(i, i + 1)"),
        ("convolution", "B", {"reads": False, "block": "init"}, "B[i] where i in range(14)"),
        ("convolution", "F", {"reads": False}, "no element of F"),
        ("tiles", "A", {"reads": False}, "A[i0, i1] where i0 in range(4), i1 in range(4), 4 * i0 + i1 < 14"),
        ("tiles", "A", {"writes": False}, "A[io, ii] where io in range(3, 4), ii in range(2, 4)"),
        ("dilated", "A", {}, "A[i0] where i0 in range(1, 8), i0 % 3 == 1"),
        ("lazy", "A", {"writes": False}, "A[i0] where i0 in range(8)"),
        ("lanes", "A", {}, "A[i0] where i0 in range(4, 12)"),
        ("gathered", "A", {}, "at most A[i0] where i0 in range(9) (an index depends on more than loops)"),
        ("gathered", "P", {}, "P[i] where i in range(4)"),
        ("data", "A", {}, "at most A[i] where i in range(4) (a condition depends on more than indices)"),
        ("length", "A", {}, "at most A[i0] where i0 in range(9) (the range of i depends on more than indices)"),
        ("asserted", "A", {}, "at most A[i] where i in range(4) (an assertion may stop the run)"),
        ("viewed", "A", {}, "at most A[i0] where i0 in range(9) (it is accessed through V, another view)"),
    ],
)
def test_domains_as_text(name: str, buffer: str, options: dict[str, Any], text: str) -> None:
    assert str(domain_touched(TEXTS[name], buffer, **options)) == text


HEAD = "@T.prim_func\ndef f(A: T.Buffer((9,), 'float32'), P: T.Buffer((9,), 'int32')):\n"
TEXTS = {
    "convolution": """
@T.prim_func
def f(A: T.Buffer((16,), "int32"), F: T.Buffer((3,), "int32"), B: T.Buffer((14,), "int32")):
    with T.block("init"):
        for i in range(14):
            B[i] = 0
    for i in range(14):
        for f in range(3):
            B[i] = B[i] + F[f] * A[i + f]
""".replace('        with T.block("init"):\n            B[i] = 0\n', "        B[i] = 0\n").replace(
        "    for i in range(14):\n        B[i] = 0\n",
        '    with T.block("init"):\n        for i in range(14):\n            B[i] = 0\n    for i in range(14):\n',
    ),
    "tiles": """
@T.prim_func
def f(A: T.Buffer((4, 4), "int32")):
    for i in range(14):
        A[i // 4, i % 4] = 1
    for io, ii in T.grid(4, 4):
        if 4 * io + ii >= 14:
            T.evaluate(A[io, ii])
""",
    "dilated": HEAD + "    for i in range(3):\n        A[3 * i + 1] = 0.0",
    "lazy": HEAD + "    for i in range(9):\n        A[i] = T.if_then_else(i > 0, A[i - 1], T.float32(0))",
    "lanes": HEAD.replace("9", "16")
    + "    for i in range(1, 3):\n        A[i * 4 : i * 4 + 4] = T.Broadcast(T.float32(0), 4)",
    "gathered": HEAD + "    for i in range(4):\n        A[P[i]] = 0.0",
    "data": HEAD + "    for i in range(4):\n        if P[i] > 0:\n            A[i] = 0.0",
    "length": HEAD + "    for i in range(P[0]):\n        A[i] = 0.0",
    "asserted": HEAD + "    assert P[0] > 0, 'no'\n    for i in range(4):\n        A[i] = 0.0",
    "viewed": HEAD + "    V = T.decl_buffer((3, 3), 'float32', data=A.data)\n    V[0, 0] = 0.0",
}


def test_of_a_schedule_as_it_is_now() -> None:
    s = Schedule(TEXTS["tiles"])
    (i, *_) = s.loops()
    s.split(i, [None, 7])
    assert str(domain_touched(s, "A", loop=s.loops()[1])) == (
        "A[i0, i1] where i0 in range(4), i1 in range(4), i0 == (i_0 * 7 + i_1) // 4 and i1 == (i_0 * 7 + i_1) % 4, "
        "for some i_1 in range(7)"
    )
    assert domain_touched(s, "A", loop=s.loops()[1]).elements({"i_0": 1}) == {(k // 4, k % 4) for k in range(7, 14)}


def test_what_is_not_there() -> None:
    for options in ({"buffer": "X"}, {"buffer": "A", "block": "X"}, {"buffer": "A", "loop": "X"}):
        with pytest.raises(IRError, match="X"):
            domain_touched(TEXTS["tiles"], **options)
    with pytest.raises(IRError, match="depend on i; give its value"):
        domain_touched(TEXTS["convolution"], "A", loop="f").elements()


@pytest.mark.nightly
@settings(
    max_examples=few(12, 40), deadline=None, database=None, derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(programs())
def test_random_programs(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Guards and indices of these are index arithmetic, so everything is exact."""
    assert all(compare(text, monkeypatch))
