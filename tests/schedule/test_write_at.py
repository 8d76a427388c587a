"""write_at: a tile that is copied back whenever an iteration of a loop ends."""

from __future__ import annotations

import pytest

from tests.schedule.schedule_support import Steps, accepted, not_applicable
from tests.schedule.test_read_at import TILES
from verified_tir import Schedule


def body(s: Schedule) -> str:
    return s.script().split("):\n", 1)[1].rstrip("\n")


def test_an_iteration_works_on_a_copy_which_is_copied_back() -> None:
    s = accepted(TILES, lambda s: s.write_at("i", "C", 0, "local"))
    assert (
        body(s)
        == """\
    for i in range(16):
        C_local = T.alloc_buffer((1,), "float32", scope="local")
        for k0, k1 in T.grid(2, 4):
            with T.sblock("C"):
                if k0 * 4 + k1 == 0:
                    C_local[0] = T.float32(0.0)
                C_local[0] = C_local[0] + A[i, k0 * 4 + k1] * B[k0 * 4 + k1]
        for ax0 in range(1):
            with T.sblock("C_local_back"):
                T.sblock_attr({"auto_copy": True})
                C[i] = C_local[ax0]"""
    )


@pytest.mark.nightly
def test_what_the_iteration_adds_to_is_copied_in_first() -> None:
    s = Schedule(TILES)
    assert s.write_at("k0", "C", 0, "local") == "C_local_back"
    assert s.blocks == ["C_local", "C", "C_local_back"]
    assert s.script().count("auto_copy") == 1


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (lambda s: s.write_at("i", "C", 1, "local"), "block C has no write buffer number 1"),
        (lambda s: s.write_at("i", "C", -1, "local"), "block C has no write buffer number -1"),
        (lambda s: s.write_at("i", "C", 0, None), "a storage scope is a text"),
        (lambda s: s.write_at("x", "C", 0, "local"), "there is no loop called 'x'"),
    ],
)
def test_arguments_that_make_no_sense(steps: Steps, words: str) -> None:
    not_applicable(TILES, steps, words)
