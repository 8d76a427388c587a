"""A refusal names the assumption that it lacks, and with that assumption the step is proved."""

from __future__ import annotations

import pytest

from tests.schedule.test_overcompute import HARMFUL, HARMLESS, overcompute, text
from verified_tir import Refuted, Schedule, ScheduleError


def remedy(program: str) -> str | None:
    """What a refused overcompute lacks; the report says it too."""
    with pytest.raises(ScheduleError) as refusal:
        overcompute(Schedule(program))
    found = refusal.value.remedy
    assert (found or "it would be proved") in str(refusal.value) or found is None
    assert ("it would be proved" in str(refusal.value)) == (found is not None)
    return found


@pytest.mark.nightly
def test_zero_times_infinity() -> None:
    finite = "T.float32(-3.4028234663852886e+38) <= W[i0, i1] and W[i0, i1] <= T.float32(3.4028234663852886e+38)"
    assert remedy(HARMFUL["zero times infinity"]) == (
        f"it would be proved if the program began with T.assume({finite}) for all elements (W: no NaN and no infinity)"
    )
    overcompute(Schedule(HARMLESS["float sum of finite products"]))


def test_a_lost_nan() -> None:
    assert remedy(HARMFUL["a NaN is lost"]) == (
        "it would be proved if the program began with T.assume(A[i0, i1] == A[i0, i1]) for all elements (A: no NaN)"
    )
    overcompute(Schedule(HARMLESS["float maximum of numbers"]))


@pytest.mark.parametrize("name", ["another padding", "the maximum of the least", "or"])
def test_nothing_would_help(name: str) -> None:
    assert remedy(HARMFUL[name]) is None


def test_of_a_layout() -> None:
    program = text(
        'A: T.Buffer((14,), "float16"), W: T.Buffer((14,), "float16"), B: T.Buffer((1,), "float16")',
        "B[0] = T.float16(0)\nfor i in range(14):\n    B[0] = B[0] + W[i] * A[i]",
    )
    s = Schedule(program)
    for name, pad in (("A", 0.0), ("W", None)):
        s.transform_layout(name, lambda i: [i // 4, i % 4], pad_value=pad)
    s.sequential_buffer_access("A")
    with pytest.raises(Refuted) as refusal:
        overcompute(s)
    # the padding of W is not to be touched, whatever the rest of it is
    assert refusal.value.remedy == "it would be proved with pad_value=0.0 in the transform_layout of W"
    s = Schedule(program)
    for name, pad in (("A", 0.0), ("W", 0.0)):
        s.transform_layout(name, lambda i: [i // 4, i % 4], pad_value=pad)
    s.sequential_buffer_access("A")
    assert overcompute(s) == 1  # 0.0 * 0.0


@pytest.mark.nightly
def test_two_factors_at_once() -> None:
    program = text(
        'A: T.Buffer((4, 4), "float16"), V: T.Buffer((4, 4), "float16"), W: T.Buffer((4, 4), "float16"), '
        'B: T.Buffer((1,), "float16")',
        """
for i, j in T.grid(4, 4):
    T.assume(4 * i + j < 14 or A[i, j] == T.float16(0))
B[0] = T.float16(0)
for i, j in T.grid(4, 4):
    if 4 * i + j < 14:
        B[0] = B[0] + A[i, j] * V[i, j] + A[i, j] * W[i, j]
""",
    )
    found = remedy(program)
    assert found is not None and found.endswith("(A, V, W: no NaN and no infinity)")
