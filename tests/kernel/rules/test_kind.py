"""Licences of loops: asked when a loop is marked, and again after every later step."""

from __future__ import annotations

from tests.kernel.programs import accepted, body_of, buffer, gives, load, program, refused, store
from verified_tir.kernel.rules.insert import Insert
from verified_tir.schedule.rule_builders import moved, of_kind

COPY = "for i in range(4):\n    A[i] = B[{}]"


def test_kind() -> None:
    text = "for i in T.{}(4):\n    A[i] = B[i]"
    for kind in ("parallel", "vectorized", "unroll"):
        marked = "unrolled" if kind == "unroll" else kind
        gives(program(COPY.format("i")), of_kind((), marked), text.format(kind))  # type: ignore[arg-type]
    bound = of_kind((), "thread_binding", "threadIdx.x")
    result = 'for i in T.thread_binding(4, thread="threadIdx.x"):\n    A[i] = B[i]'
    gives(program(COPY.format("i")), bound, result)
    refused(program(COPY.format("i")), of_kind((), "thread_binding"), "names its thread")
    refused(program("A[0] = 1"), of_kind((), "parallel"), "not a loop")


def test_a_race_is_refused() -> None:
    race = "race: the loop over i is {}: no two of its iterations {} the same element of A (Refuted)"
    shifted = program("for i in range(3):\n    A[i] = A[i + 1]")
    refused(shifted, of_kind((), "parallel"), race.format("parallel", "read and write"))
    refused(shifted, of_kind((), "vectorized"), race.format("vectorized", "read and write"))
    summed = program("for i in range(4):\n    A[0] = A[0] + B[i]")
    refused(summed, of_kind((), "parallel"), race.format("parallel", "read and write"))
    accepted(summed, of_kind((), "unrolled"))
    guarded = program("for i in range(4):\n    if B[i] > 0:\n        A[0] = i")
    refused(guarded, of_kind((), "parallel"), race.format("parallel", "write and write"))
    same = program("for i in range(4):\n    A[0] = 1")  # the same bits: a race all the same
    refused(same, of_kind((), "parallel"), race.format("parallel", "write and write"))
    once = program("for i in range(4):\n    if i == 2:\n        A[0] = i")
    accepted(once, of_kind((), "parallel"))


def test_a_race_inside_an_outer_loop_is_refused() -> None:
    text = "for o in range(2):\n    for i in range(2):\n        A[{}] = o"
    refused(program(text.format("o")), of_kind((0,), "parallel"), "the loop over i is parallel")
    accepted(program(text.format("i")), of_kind((0,), "parallel"))
    refused(program(text.format("i")), of_kind((), "parallel"), "the loop over o is parallel")


def test_a_buffer_inside_is_each_iterations_own() -> None:
    text = 'for i in range(4):\n    t = T.alloc_buffer((1,), "int32")\n    t[0] = i\n    A[i] = t[0]'
    f = program(text)
    parallel = accepted(f, of_kind((), "parallel"))
    assert "parallel" in body_of(parallel)
    refused(parallel, moved((), "hoist"), "race: the loop over i is parallel: no two of its iterations")


def test_a_later_step_may_not_bring_a_race() -> None:
    f = accepted(program("A[0] = 1\nfor i in range(1, 4):\n    B[i] = A[i]"), of_kind((1,), "parallel"))
    a = buffer(f, "A")
    refused(f, Insert((1, 0), store(a, load(a, 0), 0)), "race: the loop over i is parallel")
