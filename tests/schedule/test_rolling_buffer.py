"""rolling_buffer: refused, with what to do instead."""

from __future__ import annotations

import pytest

from tests.schedule.schedule_support import Steps, accepted, not_applicable

POOL = """
@T.prim_func
def pool(A: T.Buffer((12,), "int32"), C: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((10,), "int32")
    for a in range(10):
        with T.block("B"):
            B[a] = T.max(A[a], A[a + 2])
    for t in range(2):
        for b in range(4):
            with T.block("C"):
                C[t * 4 + b] = T.max(B[t * 4 + b], B[t * 4 + b + 2])
"""


def test_a_window_is_refused_and_a_buffer_for_each_iteration_is_not() -> None:
    words = "no rule lets an element take the place of another one that is not read any more. Use compute_at"
    not_applicable(POOL, lambda s: s.rolling_buffer("B", 0), words)
    s = accepted(POOL, lambda s: s.compute_at("B", "t"))
    assert "B = T.alloc_buffer((6,)" in s.script()
    not_applicable(POOL, lambda s: (s.compute_at("B", "t"), s.rolling_buffer("B", 0)), words)


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (lambda s: s.rolling_buffer("C", 0), "C is a parameter; only a local buffer can be rolled"),
        (lambda s: s.rolling_buffer("B", 1), "block B has no write buffer number 1; it writes B"),
        (lambda s: s.rolling_buffer("B", "B"), "a buffer is given by its number"),
        (lambda s: s.rolling_buffer("X", 0), "there is no block called 'X'"),
    ],
)
def test_arguments_that_make_no_sense(steps: Steps, words: str) -> None:
    not_applicable(POOL, steps, words)
