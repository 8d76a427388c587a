"""reindex_cache_read, reindex_cache_write, cache_inplace: copies in another scope, at indices that the user chooses."""

from __future__ import annotations

import pytest

from tests.schedule.schedule_support import Steps, accepted, not_applicable, refused

TWICE = """
@T.prim_func
def f(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4, 6), "float32")):
    for i, j in T.grid(4, 6):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
"""

INPLACE = """
@T.prim_func
def f(A: T.Buffer((16,), "int32")):
    for i in range(4):
        with T.sblock("A"):
            for j in range(4):
                A[i * 4 + j] = A[i * 4 + j] + 1
"""


def body(script: str) -> str:
    return script.split("):\n", 1)[1]


def test_a_copy_of_what_is_read() -> None:
    def steps(s):  # type: ignore[no-untyped-def]
        copy = s.reindex_cache_read("B", 0, "shared", lambda i, j: (j // 4, i, j % 4))
        assert copy.scope == "shared" and s.get_loops(copy) == s.loops()[:2]

    s = accepted(TWICE, steps)
    assert body(s.script()) == (
        '    A_shared = T.alloc_buffer((2, 4, 4), "float32", scope="shared")\n'
        "    for ax0, ax1 in T.grid(4, 6):\n"
        '        with T.sblock("A_shared"):\n'
        "            A_shared[ax1 // 4, ax0, ax1 % 4] = A[ax0, ax1]\n"
        "    for i, j in T.grid(4, 6):\n"
        '        with T.sblock("B"):\n'
        "            B[i, j] = A_shared[j // 4, i, j % 4] * T.float32(2.0)"
    )


def test_two_elements_in_one_place() -> None:
    refused(TWICE, lambda s: s.reindex_cache_read("B", 0, "shared", lambda i, j: i + j), "equals A[i, j]")


def test_a_copy_of_what_is_written() -> None:
    s = accepted(TWICE, lambda s: s.reindex_cache_write("B", 0, "local", lambda i, j: (j, i)))
    assert body(s.script()) == (
        '    B_local = T.alloc_buffer((6, 4), "float32", scope="local")\n'
        "    for i, j in T.grid(4, 6):\n"
        '        with T.sblock("B"):\n'
        "            B_local[j, i] = A[i, j] * T.float32(2.0)\n"
        "    for ax0, ax1 in T.grid(6, 4):\n"
        '        with T.sblock("B_local"):\n'
        "            B[ax1, ax0] = B_local[ax0, ax1]"
    )


def test_holes_of_the_map_are_not_copied() -> None:
    s = accepted(TWICE, lambda s: s.reindex_cache_write("B", 0, "local", lambda i, j: (j // 4, i, j % 4)))
    assert "        if ax0 != 1 or ax2 < 2:" in s.script()


def test_a_map_for_what_is_written_that_is_not_injective() -> None:
    reason = "the iteration does not follow from the index of B"
    not_applicable(TWICE, lambda s: s.reindex_cache_write("B", 0, "local", lambda i, j: i + j), reason)


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (lambda s: s.reindex_cache_read("B", 1, "shared", lambda i, j: (i, j)), "no read buffer number 1"),
        (lambda s: s.reindex_cache_read("B", True, "shared", lambda i, j: (i, j)), "not True"),
        (lambda s: s.reindex_cache_read("B", 0, 1, lambda i, j: (i, j)), "a storage scope is a text"),
        (lambda s: s.reindex_cache_read("B", 0, "shared", lambda i, j: i), "depends on j, which the map"),
        (lambda s: s.reindex_cache_read("B", 0, "shared", lambda i, j: (i - 1, j)), "the copy's index"),
        (lambda s: s.reindex_cache_read("B", 0, "shared", None), "is a function or an IndexMap, not None"),
        (lambda s: s.reindex_cache_write("B", 0, "shared", lambda i, j: j), "depends on i, which the map"),
        (lambda s: s.reindex_cache_write("Q", 0, "shared", lambda i, j: (i, j)), "there is no block called 'Q'"),
    ],
)  # fmt: skip
def test_arguments_that_make_no_sense(step: Steps, reason: str) -> None:
    not_applicable(TWICE, step, reason)


def test_in_place() -> None:
    def steps(s):  # type: ignore[no-untyped-def]
        assert s.cache_inplace("A", 0, "local") == ("A_local", "A_local_back")

    s = accepted(INPLACE, steps)
    assert body(s.script()) == (
        "    for i in range(4):\n"
        '        A_local = T.alloc_buffer((4,), "int32", scope="local")\n'
        "        for ax0 in range(4):\n"
        '            with T.sblock("A_local"):\n'
        "                A_local[ax0] = A[ax0 + 4 * i]\n"
        '        with T.sblock("A"):\n'
        "            for j in range(4):\n"
        "                A_local[j] = A_local[j] + 1\n"
        "        for ax0 in range(4):\n"
        '            with T.sblock("A_local_back"):\n'
        "                A[ax0 + 4 * i] = A_local[ax0]"
    )


def test_in_place_needs_a_buffer_that_is_read_and_written() -> None:
    not_applicable(TWICE, lambda s: s.cache_inplace("B", "A", "local"), "does not both read and write A")
    not_applicable(INPLACE, lambda s: s.cache_inplace("A", 0, 3), "a storage scope is a text")
    opaque = INPLACE.replace(
        "A[i * 4 + j] = A[i * 4 + j] + 1",
        'A[j] = A[j] + 1\n                T.evaluate(T.call_extern("int32", "f", A.data))',
    )
    not_applicable(opaque, lambda s: s.cache_inplace("A", 0, "local"), "an opaque call stands there")
