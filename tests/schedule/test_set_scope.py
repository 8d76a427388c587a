"""set_scope: where a local buffer lives, and which threads it lets share it."""

from __future__ import annotations

import pytest

from tests.schedule.schedule_support import accepted, not_applicable, refused
from verified_tir import Refuted, Schedule

TWO = """
@T.prim_func
def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
    for i in range(4):
        t = T.alloc_buffer((8,), "float32")
        for j in range(8):
            with T.block("t"):
                t[j] = A[i, j] * 2.0
        for k in range(8):
            with T.block("B"):
                B[i, k] = t[7 - k]
"""


def test_a_scope_is_changed_in_either_form() -> None:
    for step in (
        lambda s: s.set_scope("t", 0, "shared"),  # both a block and a buffer: TVM's form
        lambda s: s.set_scope("t", "t", "shared"),
        lambda s: s.set_scope("t", "shared"),
        lambda s: s.set_scope(buffer="t", scope="shared"),
        lambda s: s.set_scope(s.buffer("t"), "shared"),
    ):
        s = accepted(TWO, step)
        assert 't = T.alloc_buffer((8,), "float32", scope="shared")' in s.script()
        assert s.buffer("t").scope == "shared"
    assert Schedule(s.script()).buffer("t").scope == "shared"


def test_views_of_the_block_go_with_it() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    t = T.alloc_buffer((8,), "float32")
    v = T.decl_buffer((2, 4), "float32", data=t.data)
    for i in range(8):
        t[i] = A[i]
    for i, j in T.grid(2, 4):
        B[4 * i + j] = v[i, j]
"""
    for name in ("t", "v"):
        s = accepted(text, lambda s, name=name: s.set_scope(name, "local"))  # type: ignore[misc]
        assert 't = T.alloc_buffer((8,), "float32", scope="local")' in s.script()
        assert 'v = T.decl_buffer((2, 4), "float32", data=t.data, scope="local")' in s.script()


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (lambda s: s.set_scope("A", "shared"), "A is a parameter, whose memory is the caller's"),
        (lambda s: s.set_scope("B", 0, "shared"), "B is a parameter, whose memory is the caller's"),
        (lambda s: s.set_scope("q", "shared"), "there is no block called 'q'"),
        (lambda s: s.set_scope(buffer="q", scope="shared"), "there is no buffer called 'q'"),
        (lambda s: s.set_scope("t", 1, "shared"), "block t has no write buffer number 1"),
        (lambda s: s.set_scope("t"), "name a buffer"),
    ],
)
def test_what_is_not_there(step: object, reason: str) -> None:
    not_applicable(TWO, step, reason)  # type: ignore[arg-type]


def bind(s: Schedule, thread: str, *loops: str) -> Schedule:
    for loop in loops:
        s.bind(loop, thread)
    return s


def bound(s: Schedule) -> Schedule:
    return bind(s, "threadIdx.x", "j", "k")


@pytest.mark.nightly
def test_local_memory_is_one_threads() -> None:
    """``t[7 - k]`` was stored by another thread."""
    accepted(TWO, lambda s: bound(s).set_scope("t", "shared"))
    claim = "bound to threadIdx.x: none of its iterations uses t of scope local from outside"
    refused(TWO, lambda s: bound(s).set_scope("t", "local"), claim, confirmed=False)
    refused(TWO, lambda s: (s.set_scope("t", "local"), bound(s)), claim, confirmed=False)
    accepted(TWO, lambda s: (s.bind("i", "threadIdx.x"), s.set_scope("t", "local")))
    accepted(TWO, lambda s: (s.bind("i", "threadIdx.x"), s.set_scope("t", "local"), s.set_scope("t", "global")))


def test_shared_memory_is_one_thread_blocks() -> None:
    outside = """
@T.prim_func
def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
    t = T.alloc_buffer((4, 8), "float32")
    for i in range(4):
        for j in range(8):
            t[i, j] = A[i, j]
    for k in range(4):
        for l in range(8):
            B[k, l] = t[k, 7 - l]
"""
    accepted(outside, lambda s: bind(s, "blockIdx.x", "i", "k").set_scope("t", "global"))
    claim = "bound to blockIdx.x: none of its iterations uses t of scope shared.dyn from outside"
    refused(outside, lambda s: bind(s, "blockIdx.x", "i", "k").set_scope("t", "shared.dyn"), claim, confirmed=False)

    def merged(s: Schedule) -> None:
        s.merge_loops("i", "k")
        s.sink_allocation("t")
        bind(s, "blockIdx.x", "i").set_scope("t", "shared.dyn")

    accepted(outside, merged)


def test_what_a_thread_allocates_in_shared_memory_is_its_blocks() -> None:
    """Each of the four threads fills the same eight elements, or elements of its own."""
    conflict = "no two of its iterations write and write the same element of t"
    refused(TWO, lambda s: (s.bind("i", "threadIdx.x"), s.set_scope("t", "shared")), conflict, confirmed=False)
    apart = TWO.replace("(8,)", "(4, 8)").replace("t[j]", "t[i, j]").replace("t[7 - k]", "t[i, 7 - k]")
    accepted(apart, lambda s: (s.bind("i", "threadIdx.x"), s.set_scope("t", "shared")))
    accepted(TWO, lambda s: (s.bind("i", "blockIdx.x"), s.set_scope("t", "shared")))


def test_a_program_that_begins_so_is_looked_at_too() -> None:
    text = TWO.replace("range(4)", 'T.thread_binding(4, thread="threadIdx.x")')
    Schedule(text)
    shared = text.replace('(8,), "float32")\n        for', '(8,), "float32", scope="shared")\n        for')
    with pytest.raises(Refuted, match="the same element of t"):
        Schedule(shared)
