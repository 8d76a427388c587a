"""add_unit_loop: a loop of one iteration around a block or a loop."""

from __future__ import annotations

from tests.schedule.schedule_support import accepted, not_applicable

SUM = """
@T.prim_func
def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 8):
        with T.sblock("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
"""


def test_around_a_block_and_around_a_loop() -> None:
    s = accepted(SUM, lambda s: (s.add_unit_loop("B"), s.add_unit_loop("i")))
    assert s.script().split("):\n", 1)[1] == (
        "    for u, i, k, u_1 in T.grid(1, 4, 8, 1):\n"
        '        with T.sblock("B"):\n'
        "            if k == 0:\n"
        "                B[i] = T.float32(0.0)\n"
        "            B[i] = B[i] + A[i, k]"
    )


def test_the_loop_can_be_used() -> None:
    def steps(s):  # type: ignore[no-untyped-def]
        unit = s.add_unit_loop("B")
        s.bind(unit, "threadIdx.y")
        assert s.get_loops("B")[-1] is unit

    s = accepted(SUM, steps)
    assert 'for u in T.thread_binding(1, thread="threadIdx.y"):' in s.script()


def test_there_must_be_such_a_place() -> None:
    not_applicable(SUM, lambda s: s.add_unit_loop("q"), "there is no loop called 'q'")
    not_applicable(SUM, lambda s: s.add_unit_loop(3), "a loop is given by its variable or its name")
