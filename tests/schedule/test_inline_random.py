"""Random producers and consumers: whatever is inlined gives the same bits, undef refined; what is refused changes
nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.schedule.schedule_support import agree
from verified_tir import Schedule, ScheduleError

Draw = Callable[[st.SearchStrategy[Any]], Any]

SIZE = 8


def _one(draw: Draw, *choices: str) -> str:
    return str(draw(st.sampled_from(choices)))


def _index(draw: Draw, v: str) -> str:
    return _one(draw, v, v, v, f"{SIZE - 1} - {v}", f"({v} + 3) % {SIZE}", f"{v} // 2", "0", f"P[{v}]")


def _value(draw: Draw, v: str, sources: tuple[str, ...], depth: int = 2) -> str:
    kind = _one(draw, "load", "load", "op", "op", "choice", "undef", "const") if depth else "load"
    if kind == "op":
        a, b = _value(draw, v, sources, depth - 1), _value(draw, v, sources, depth - 1)
        return f"({a} {_one(draw, '+', '*', '-')} {b})"
    if kind == "choice":
        a, b = _value(draw, v, sources, depth - 1), _value(draw, v, sources, depth - 1)
        return f"T.if_then_else({_condition(draw, v)}, {a}, {b})"
    if kind == "undef":
        return f"T.if_then_else({v} < 2, T.undef(DT), A[{v}])"
    if kind == "const":
        return _one(draw, "T.Cast(DT, 2)", f"T.Cast(DT, {v})")
    return f"{_one(draw, *sources)}[{_index(draw, v)}]"


def _condition(draw: Draw, v: str) -> str:
    return _one(draw, f"{v} < 3", f"{v} >= 5", f"{v} % 2 == 0", f"A[{v}] < D[{v}]", "X[0] > 0")


@st.composite
def programs(draw: Draw) -> str:
    """A local buffer B that one or two nests fill, and one or two that read it; sometimes a write in between."""
    dtype = _one(draw, "float32", "int32")
    lines: list[str] = []

    def line(depth: int, text: str) -> None:
        lines.append("    " * (depth + 1) + text.replace("DT", f'"{dtype}"'))

    for stage in range(draw(st.sampled_from([1, 1, 2]))):
        tiled = draw(st.booleans())
        v = f"i{stage}"
        line(0, f"for {v}_0, {v}_1 in T.grid(2, {SIZE // 2}):" if tiled else f"for {v} in range({SIZE}):")
        v = f"({v}_0 * {SIZE // 2} + {v}_1)" if tiled else v
        target = _one(draw, v, v, f"{SIZE - 1} - {v}", f"({v}) // 2 * 2 + 1 - ({v}) % 2")
        line(1, f'with T.block("B{stage}"):')
        arm = _one(draw, "plain", "plain", "if", "else")
        if arm != "plain":
            line(2, f"if {_condition(draw, v)}:")
        line(3 if arm != "plain" else 2, f"B[{target}] = {_value(draw, v, ('A', 'D'))}")
        if arm == "else":
            line(2, "else:")
            line(3, f"B[{target}] = {_value(draw, v, ('A', 'D'), 1)}")
    if draw(st.integers(0, 2)) == 0:
        line(0, "for w in range(4):")
        line(1, f"{_one(draw, 'A', 'D')}[w + {draw(st.integers(0, 4))}] = {_one(draw, 'A', 'D')}[w]")
    for k in range(draw(st.sampled_from([1, 1, 2]))):
        x = f"x{k}"
        line(0, f"for {x} in range({_one(draw, '8', '5')}):")
        line(1, f'with T.block("C{k}"):')
        guarded = draw(st.integers(0, 3)) == 0
        if guarded:
            line(2, f"if {_condition(draw, x)}:")
        out = _one(draw, f"C[{x}]", f"C[{x}]", "C[0]", f"A[{x}]")
        keep = f"{out} + " if draw(st.booleans()) else ""
        line(3 if guarded else 2, f"{out} = {keep}{_value(draw, x, ('B', 'B', 'D'), 1)}")
    params = ", ".join(f'{b}: T.Buffer(({SIZE},), "{dtype}")' for b in "ACD")
    head = f'@T.prim_func\ndef f({params}, P: T.Buffer(({SIZE},), "int32"), X: T.Buffer((1,), "int32")):\n'
    assume = f"    for p in range({SIZE}):\n        T.assume(0 <= P[p] and P[p] < {SIZE})\n"
    alloc = f'    B = T.alloc_buffer(({SIZE},), "{dtype}")\n'
    return f"{head}{assume}{alloc}" + "\n".join(lines) + "\n"


QUICKLY = settings(
    max_examples=8, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


def _same(text: str, step: Callable[[Schedule], object]) -> None:
    try:
        s = Schedule(text)
    except ScheduleError:
        return  # it has no meaning on some input: a condition on what was never stored
    before = s.func
    try:
        step(s)
    except ScheduleError:
        assert s.func is before
        return
    assert all(b.name != "B" for b in s.buffers)
    agree(s, work=300)


@QUICKLY
@given(programs())
def test_compute_inline_keeps_the_result(text: str) -> None:
    _same(text, lambda s: s.compute_inline("B0"))


@pytest.mark.nightly
@QUICKLY
@given(programs())
def test_reverse_compute_inline_keeps_the_result(text: str) -> None:
    _same(text, lambda s: s.reverse_compute_inline("C0"))
