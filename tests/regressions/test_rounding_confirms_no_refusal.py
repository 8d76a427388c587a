"""A step that puts a float sum into another order, with the user's word, was refused for something else.

Its counterexample was run, the sum had other bits, as it may, and the refusal was called confirmed; one that the solver
had not decided became one that is false. And of `reorder` with the word the refusal said only that the order changes.
"""

from __future__ import annotations

import pytest

from verified_tir import NotApplicable, Refuted, Schedule, parse_func
from verified_tir.derivation.assumptions import reassociated
from verified_tir.schedule.replay import Programs, Replay, replay

HEAD = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((1,), "float32"), D: T.Buffer((1,), "int32")):
"""
SUM = (
    HEAD
    + """
    B[0] = T.float32(0)
    for k in range(4):
        B[0] = B[0] + A[k]
    D[0] = 1
"""
)
LEAST = (
    HEAD
    + """
    B[0] = T.float32(3)
    for k in range(4):
        B[0] = T.min(B[0], A[k])
    D[0] = 1
"""
)


def replayed(before: str, after: str, *words: str, zeros_only: bool = False) -> Replay:
    programs = Programs(parse_func(before), parse_func(after), (), (), (), "same result", frozenset(words), zeros_only)
    return replay(programs, {})


def test_other_bits_of_a_sum_confirm_nothing_where_they_are_allowed() -> None:
    backwards = SUM.replace("A[k]", "A[3 - k]")
    assert replayed(SUM, backwards).confirmed
    assert not replayed(SUM, backwards, "B").confirmed
    assert replayed(SUM, backwards, "D").confirmed
    assert replayed(SUM, backwards.replace("D[0] = 1", "D[0] = 2"), "B").message == "D[0] = 1 before, 2 after"
    assert "undefined" in replayed(SUM, SUM.replace("B[0] + A[k]", "B[0] + A[k] + T.undef('float32')"), "B").message
    assert replayed(SUM, backwards.replace("A[3 - k]", "A[4 - k]"), "B").confirmed


def test_of_a_minimum_the_sign_of_zero_confirms_nothing() -> None:
    backwards = LEAST.replace("A[k]", "A[3 - k]")
    found = replayed(LEAST, backwards, "B", zeros_only=True)
    assert found.confirmed and "nan" in found.message  # which the word does not cover
    signs = LEAST.replace("A[k]", "T.Select(A[k] > T.float32(0), T.float32(0), T.float32(-0.0))")
    assert replayed(signs, signs.replace("A[k]", "A[3 - k]")).confirmed
    assert not replayed(signs, signs.replace("A[k]", "A[3 - k]"), "B", zeros_only=True).confirmed


@pytest.mark.nightly
def test_why_a_word_was_not_enough() -> None:
    s = Schedule(SUM.replace("for k in range(4)", "for k, l in T.grid(2, 2)").replace("A[k]", "A[k * 2 + l]").replace(
        "D[0] = 1", "T.assume(B[0] > T.float32(0))\n    D[0] = 1"))  # fmt: skip
    with pytest.raises(NotApplicable, match="may be false of a sum in another order"):
        s.reorder("l", "k", reassociate="B")
    with pytest.raises(Refuted, match='another order may be allowed: reorder\\(…, reassociate="B"\\)') as found:
        s.reorder("l", "k")
    assert found.value.confirmed


def test_a_step_that_was_refused_for_a_branch() -> None:
    """That the sum is defined was not seen behind the partial results, whose memory is gone; it is now."""
    s = Schedule("""
@T.prim_func
def f(A: T.Buffer((3,), "float32"), D: T.Buffer((1,), "int32"), E: T.Buffer((1,), "float32")):
    t = T.alloc_buffer((1,), "float32")
    t[0] = A[2]
    for k in range(3):
        t[0] = t[0] + A[k]
    E[0] = t[0]
    D[0] = T.if_then_else(t[0] == T.float32(0), 1, 2)
""")
    s.rfactor("k", reassociate="t")
    assert reassociated(s.theorem) == ["t"]
