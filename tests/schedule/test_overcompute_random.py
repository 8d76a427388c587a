"""Random guards, padding and accumulators: whatever the primitives of branches accept keeps every bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.nightly import few
from tests.schedule.schedule_support import agree
from tests.schedule.test_overcompute import buffers, text
from verified_tir import Schedule, ScheduleError
from verified_tir.schedule.tactics.hoist import HoistConditional

GUARDS = (
    "4 * i + j < 14",
    "i < 3",
    "i != 3 or j < 2",
    "j >= 1",
    "W[i, j] > {one}",
    "i + j < n",
    "not (i == 0 and j < 2)",
)
VALUES = {
    "int32": ("0", "1", "-2147483648"),
    "float32": ("0.0", "-0.0", "1.0", 'T.float32("-inf")', 'T.float32("nan")'),
    "int8": ("T.int8(0)", "T.int8(1)", "T.int8(-128)"),
}
TERMS = ("A[i, j]", "A[i, j] * W[i, j]", "W[j, i] * A[i, j]", "A[(i + 1) % 4, j]", "{one}", "A[i + j // 4, j]")
UPDATES = ("{b} + {x}", "{x} + {b}", "{b} * {x}", "T.max({b}, {x})", "T.min({x}, {b})", "{x}", "{b} - {x}")
ELEMENTS = ("B[i, j]", "B[0, 0]", "B[i, 0]", "B[3 - i, j]")


@st.composite
def programs(draw: Callable[..., Any]) -> str:
    """A nest with padding that is assumed, guards, and perhaps a nest that fills padding afterwards."""
    dtype = draw(st.sampled_from(sorted(VALUES)))
    value = st.sampled_from(VALUES[dtype])
    one = VALUES[dtype][1] if dtype != "float32" else "1.0"
    guards = st.sampled_from(GUARDS).map(lambda g: g.format(one=one))

    def update() -> str:
        b = draw(st.sampled_from(ELEMENTS))
        x = draw(st.sampled_from(TERMS)).format(one=one)
        return f"{b} = {draw(st.sampled_from(UPDATES)).format(b=b, x=x)}"

    lines = []
    if draw(st.booleans()):
        lines += ["for i, j in T.grid(4, 4):", f"    T.assume({draw(guards)} or A[i, j] == {draw(value)})"]
    if draw(st.booleans()):
        lines += ["for i, j in T.grid(4, 4):", f"    B[i, j] = {draw(value)}"]
    lines.append("for i, j in T.grid(4, 4):")
    condition = " and ".join(f"({g})" for g in draw(st.lists(guards, min_size=1, max_size=2)))
    lines += [f"    if {condition}:", *[f"        {update()}" for _ in range(draw(st.integers(1, 2)))]]
    if draw(st.booleans()):
        lines += ["    else:", f"        {draw(st.sampled_from(ELEMENTS))} = {draw(value)}"]
    if draw(st.booleans()):
        lines += [f"    if {draw(guards)}:", f"        {update()}"]
    if draw(st.booleans()):
        lines.append("C[0, 0] = B[3, 3]")
    if draw(st.booleans()):
        last = draw(st.one_of(value, st.just(f'T.undef("{dtype}")')))
        lines += ["for i, j in T.grid(4, 4):", f"    if not ({draw(guards)}):", f"        B[i, j] = {last}"]
    shapes = {"A": "4x4", "W": "4x4", "B": "4x4", "C": "4x4"}
    return text(buffers(**{k: f"{v} {dtype}" for k, v in shapes.items()}) + ", n: T.int32", "\n".join(lines))


STEPS: dict[str, Callable[[Schedule], object]] = {
    "overcompute": lambda s: s.remove_branching_through_overcompute(),
    "wrapped": lambda s: s.remove_branching_through_overcompute(wrap_indices=True),
    "branching": lambda s: s.remove_overcompute_through_branching(),
    "simplify": lambda s: s.simplify(),
    "hoist": lambda s: s.hoist_expression(HoistConditional.BOOLEAN_EXPRESSION),
    "no-op": lambda s: s.remove_no_op(),
}


@settings(
    max_examples=few(3, 8), deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(programs(), st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=2))
def test_whatever_is_accepted_keeps_the_result(program: str, steps: list[str]) -> None:
    try:
        s = Schedule(program, budget=300_000)
    except ScheduleError:
        return  # what it assumes contradicts itself, or an index leaves its range
    for name in steps:
        func = s.func
        try:
            STEPS[name](s)
        except ScheduleError:
            assert s.func is func
    agree(s, work=1500)
