"""Random reductions, split by random loops: what is accepted keeps every bit, or says which sums it does not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.nightly import few
from tests.schedule.schedule_support import agree
from verified_tir import Schedule, ScheduleError
from verified_tir.derivation.assumptions import reassociated

UPDATES = {
    "int32": ("{b} + {e}", "{e} + {b}", "{b} * {e}", "T.max({b}, {e})", "T.min({e}, {b})", "{b} ^ {e}", "{b} - {e}"),
    "float32": ("{b} + {e}", "T.max({b}, T.max({e}, T.float32(0)))", "T.max({b}, {e})", "T.min({b}, T.float32(2))"),
    "bool": ("{b} and {e}", "{b} or {e}", "{b} & {e}"),
}
STARTS = {
    "int32": ("0", "5"),
    "float32": ("T.float32(0)", 'T.float32("-inf")', "T.float32(-0.0)"),
    "bool": ("T.bool(True)",),
}
TERMS = {
    "int32": ("A[r, i, k]", "A[r, i, k] * i", "k - r"),
    "float32": ("A[r, i, k]",),
    "bool": ("A[r, i, k]", "(k < 3)"),
}
EXTENTS = {"r": 2, "i": 3, "k": 5}


@dataclass(frozen=True)
class Reduction:
    """A program, and what is done to it: loops split (which, by how much), and the loop that is factored."""

    text: str
    split: tuple[str, int] | None
    loop: str
    axis: int
    word: str


@st.composite
def reductions(draw: st.DrawFn) -> Reduction:
    dtype = draw(st.sampled_from(sorted(UPDATES)))
    of = {"b": draw(st.sampled_from(["B[i]", "B[i]", "B[1]", "B[i % 2]"])), "e": draw(st.sampled_from(TERMS[dtype]))}
    update = f"{of['b']} = {draw(st.sampled_from(UPDATES[dtype])).format(**of)}"
    guard = draw(st.sampled_from(["", "", "if k + i < n:", "if B[0] == B[1]:" if dtype != "bool" else "if B[0]:"]))
    start = draw(st.sampled_from(STARTS[dtype]))
    symbolic = draw(st.booleans())
    order = draw(st.permutations(list(EXTENTS)))
    lines = []
    for depth, v in enumerate(order):
        extent = "n" if symbolic and v == "k" else str(EXTENTS[v])
        lines.append(f"{'    ' * (depth + 1)}for {v} in range({extent}):")
    depth = 4
    if guard:
        lines.append(f"{'    ' * depth}{guard}")
        depth += 1
    lines.append(f"{'    ' * depth}{update}")
    if draw(st.booleans()):
        lines = [f"    for j in range(3):\n        B[j] = {start}", *lines]
    shape = '(2, 3, "n")' if symbolic else "(2, 3, 5)"
    head = f'@T.prim_func\ndef f(A: T.Buffer({shape}, "{dtype}"), B: T.Buffer((3,), "{dtype}"), n: T.int32):'
    split = draw(st.none() | st.tuples(st.sampled_from(["r", "i", "k"]), st.integers(1, 4)))
    loop = draw(st.sampled_from(["r", "k", "k", "i"]))
    return Reduction(
        "\n".join([head, *lines]), split, loop, draw(st.sampled_from([0, -1])), draw(st.sampled_from(["", "B"]))
    )


def taken(r: Reduction) -> Schedule | None:
    """The schedule, if it is accepted."""
    s = Schedule(r.text)
    loop: Any = r.loop
    try:
        if r.split is not None:
            outer, inner = s.split(r.split[0], [None, r.split[1]])
            loop = (inner if r.axis else outer) if r.split[0] == r.loop else loop
        s.rfactor(loop, r.axis, reassociate=r.word)
    except ScheduleError:
        return None
    return s


@pytest.mark.nightly
@settings(
    max_examples=few(10, 40),
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(reductions())
def test_what_is_accepted_keeps_every_bit_or_names_the_sum(r: Reduction) -> None:
    s = taken(r)
    if s is None:
        return
    if s.theorem.reassociated:
        assert reassociated(s.theorem) == ["B"] and r.word == "B" and "float32" in r.text
        assert s.validate(most_operations=20_000).word != "disagrees"
    else:
        agree(s)


def test_the_programs_are_not_all_refused() -> None:
    """One of each kind that the strategy draws."""
    head = '@T.prim_func\ndef f(A: T.Buffer((2, 3, 5), "{0}"), B: T.Buffer((3,), "{0}"), n: T.int32):\n'
    nest = "    for k in range(5):\n        for i in range(3):\n            for r in range(2):\n                {1}"
    for dtype, update in (
        ("int32", "B[i % 2] = B[i % 2] + A[r, i, k]"),
        ("bool", "B[i] = B[i] & A[r, i, k]"),
        ("float32", "B[i] = B[i] + A[r, i, k]"),
    ):
        text = (head + nest).format(dtype, update)
        assert taken(Reduction(text, ("k", 2), "k", 0, "B")) is not None
