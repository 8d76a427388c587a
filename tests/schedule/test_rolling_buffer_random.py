"""Tiles of many shapes, rolled: either the bits stay, or it is refused with a reason; most are accepted."""

from __future__ import annotations

import os
from collections import Counter

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, composite

from tests.schedule.schedule_support import agree
from verified_tir import Schedule, ScheduleError

EXAMPLES = int(os.environ.get("VTIR_EXAMPLES", "60"))
REASONS = (
    "compute a row of B",
    "no other element of B takes the place",
    "otherwise than by its rows",
    "must be those of one loop",
    "no two accessed elements",
    "the inserted store to B",
    "in bounds",
    "is defined",
    "no dependence",
    "it must be one",
)


@composite
def tiled(draw: DrawFn) -> str:
    """A producer and a consumer in one or two loops over tiles, of which each computes ``rows`` and moves on by
    ``step / part``; now and then the consumer looks elsewhere, or a row is stored twice."""
    lines, ranks = [], draw(st.integers(1, 2))
    tiles = [draw(st.integers(2, 4)) for _ in range(ranks)]
    steps = [draw(st.integers(1, 3)) for _ in range(ranks)]
    parts = [draw(st.sampled_from((1, 1, 2))) for _ in range(ranks)]
    rows = [s + draw(st.integers(0, 2)) for s in steps]
    whole = [(s * (t - 1)) // p + r for s, t, p, r in zip(steps, tiles, parts, rows, strict=True)]
    starts = [f"{'ij'[k]} * {steps[k]}" + (f" // {parts[k]}" if parts[k] > 1 else "") for k in range(ranks)]
    made = ", ".join(f"{start} + {v}" for start, v in zip(starts, "ab", strict=False))
    read = [f"{start} + {v}" for start, v in zip(starts, "ef", strict=False)]
    if draw(st.integers(0, 4)) == 0:
        read[0] = draw(st.sampled_from((f"({read[0]}) // 2", "0", f"{whole[0] - 1} - ({read[0]})")))
    summed = draw(st.booleans())
    shape = ", ".join(map(str, whole))
    out = ", ".join(map(str, (*tiles, *rows)))
    lines += ["@T.prim_func", f'def f(A: T.Buffer(({shape},), "int32"), C: T.Buffer(({out},), "int32")):']
    lines += [f'    B = T.alloc_buffer(({shape},), "int32")']
    indent = "    "
    for v, n in zip("ij", tiles, strict=False):
        lines.append(f"{indent}for {v} in range({n}):")
        indent += "    "
    inner = indent
    for v, n in zip("ab", rows, strict=False):
        lines.append(f"{inner}for {v} in range({n}):")
        inner += "    "
    if summed:
        lines += [f"{inner}for k in range(2):", f'{inner}    with T.block("B"):', f"{inner}        if k == 0:"]
        lines += [f"{inner}            B[{made}] = 0", f"{inner}        B[{made}] = B[{made}] + A[{made}] * (k + 1)"]
    else:
        lines += [f'{inner}with T.block("B"):', f"{inner}    B[{made}] = A[{made}] + 1"]
    if draw(st.integers(0, 5)) == 0:
        lines.append(
            f"{indent}{draw(st.sampled_from(('A[', 'B[')))}{', '.join(str(min(1, n - 1)) for n in whole)}] = 7"
        )
    for v, n in zip("ef", rows, strict=False):
        lines.append(f"{indent}for {v} in range({n}):")
        indent += "    "
    place = ", ".join((*"ij"[:ranks], *"ef"[:ranks]))
    return "\n".join([*lines, f'{indent}with T.block("C"):', f"{indent}    C[{place}] = B[{', '.join(read)}]"])


@pytest.mark.nightly
def test_the_bits_stay() -> None:
    found: Counter[str] = Counter()

    @settings(
        max_examples=2 * EXAMPLES, deadline=None, derandomize=EXAMPLES <= 60, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(tiled())
    def rolled(program: str) -> None:
        s = Schedule(program)
        try:
            s.rolling_buffer("B", 0)
        except ScheduleError as refused:
            reason = next((r for r in REASONS if r in refused.reason), None)
            assert reason is not None, f"{refused}\n{program}"
            found[reason] += 1
            event(reason)
            return
        found["accepted"] += 1
        event("accepted")
        agree(s)
        assert (len(s.steps) == 2 and "% " in s.script()) or "B = T.alloc_buffer" in s.script()

    rolled()
    assert found["accepted"] > found.total() // 4, found


if __name__ == "__main__":
    test_the_bits_stay()
