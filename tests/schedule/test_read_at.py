"""read_at: a tile that is copied whenever an iteration of a loop begins."""

from __future__ import annotations

import pytest

from tests.schedule.schedule_support import Steps, accepted, not_applicable, refused
from verified_tir import Schedule

TILES = """
@T.prim_func
def tiles(A: T.Buffer((16, 8), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((16,), "float32")):
    for i, k0, k1 in T.grid(16, 2, 4):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            vk = T.axis.reduce(8, k0 * 4 + k1)
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk] * B[vk]
"""


def body(s: Schedule) -> str:
    return s.script().split("):\n", 1)[1].rstrip("\n")


def test_an_iteration_reads_a_copy_which_is_noted() -> None:
    s = accepted(TILES, lambda s: s.read_at("k0", "C", 0, "shared"))
    assert (
        body(s)
        == """\
    for i, k0 in T.grid(16, 2):
        A_shared = T.alloc_buffer((1, 4), "float32", scope="shared")
        for ax0, ax1 in T.grid(1, 4):
            with T.sblock("A_shared"):
                T.sblock_attr({"auto_copy": True})
                A_shared[ax0, ax1] = A[i, ax1 + 4 * k0]
        for k1 in range(4):
            with T.sblock("C"):
                if k0 * 4 + k1 == 0:
                    C[i] = T.float32(0.0)
                C[i] = C[i] + A_shared[0, k1] * B[k0 * 4 + k1]"""
    )


def test_it_gives_the_block_that_copies() -> None:
    s = Schedule(TILES)
    assert s.read_at("k0", "C", 1, "local") == "B_local"
    s.vectorize(s.get_loops("B_local")[-1])


def test_a_second_copy_has_a_name_of_its_own() -> None:
    def steps(s: Schedule) -> None:
        assert s.read_at("i", "C", 0, "local") == "A_local"
        assert s.read_at("k0", "C", 0, "local") == "A_local_local"
        assert s.read_at("i", "C", 1, "local") == "B_local"
        assert s.write_at("i", "C", 0, "local") == "C_local_back"
        assert s.write_at("k0", "C", 0, "local") == "C_local_local_back"

    assert accepted(TILES, steps).script().count("auto_copy") == 5


THREADS = """
@T.prim_func
def threads(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8, 4), "float32")):
    for b in T.thread_binding(2, thread="blockIdx.x"):
        for t in T.thread_binding(4, thread="threadIdx.x"):
            for k in range(4):
                with T.block("C"):
                    C[b * 4 + t, k] = A[b * 4 + t, k]
"""


def test_threads_share_no_copy_but_each_may_have_its_own() -> None:
    """TVM lets all threads of a block make one copy together; that needs a barrier, which there is none of here."""
    claim = "no two of its iterations write and write the same element of A_shared"
    refused(THREADS, lambda s: s.read_at("t", "C", 0, "shared"), claim, confirmed=False)
    accepted(THREADS, lambda s: s.read_at("t", "C", 0, "local"))


UPDATED = """
@T.prim_func
def updated(A: T.Buffer((9,), "float32")):
    for i in range(2):
        for j in range(4):
            with T.block("A"):
                A[i * 4 + j + 1] = A[i * 4 + j]
"""


def test_what_is_written_before_it_is_read_is_not_copied() -> None:
    refused(UPDATED, lambda s: s.read_at("i", "A", 0, "local"), "A")
    accepted(UPDATED, lambda s: s.read_at("j", "A", 0, "local"))


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (lambda s: s.read_at("k0", "C", 3, "shared"), "block C has no read buffer number 3"),
        (lambda s: s.read_at("k0", "C", "A", "shared"), "a buffer is given by its number"),
        (lambda s: s.read_at("k0", "C", True, "shared"), "a buffer is given by its number"),
        (lambda s: s.read_at("k0", "C", 0, 1), "a storage scope is a text"),
        (lambda s: s.read_at("x", "C", 0, "local"), "there is no loop called 'x'"),
        (lambda s: s.read_at("k0", "D", 0, "local"), "there is no block called 'D'"),
    ],
)
def test_arguments_that_make_no_sense(steps: Steps, words: str) -> None:
    not_applicable(TILES, steps, words)


def test_the_loop_stands_around_the_block() -> None:
    two = TILES + '    for x in range(16):\n        with T.block("D"):\n            C[x] = C[x] + T.float32(1)\n'
    not_applicable(two, lambda s: s.read_at("x", "C", 0, "local"), "block C does not stand inside the loop over x")
