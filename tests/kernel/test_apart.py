"""What is one place and what are two: strides that fold, lanes of different stores, bytes of other types.

Each acceptance stands beside the refusal next to it.
"""

from __future__ import annotations

import pytest

from tests.kernel.programs import accepted, compact, program, refused
from verified_tir.ir.expr import Var
from verified_tir.ir.sugar import const
from verified_tir.kernel.rules.erase import Erase
from verified_tir.schedule import moves
from verified_tir.schedule.rule_builders import of_kind

LOCAL = 't = T.alloc_buffer((2, 2), "int32", strides={strides})\n'


@pytest.mark.parametrize(("strides", "known"), [((2, 1), True), ((1, 1), False), ((0, 1), True), ((0, 0), False)])
def test_with_strides_two_indices_may_mean_one_element(strides: tuple[int, int], *, known: bool) -> None:
    """``t[0, 1]`` is 5 unless ``t[1, 0]`` is the same element."""
    body = LOCAL.format(strides=strides) + "t[0, 1] = 5\nt[1, 0] = 6\nif t[0, 1] == 5:\n    B[0] = 1"
    if known:
        accepted(program(body), moves.decide((0, 2), True))
    else:
        refused(program(body), moves.decide((0, 2), True), "the branch is always taken here")


@pytest.mark.parametrize(("start", "apart"), [(4, True), (3, False), (1, False)])
def test_lanes_of_two_stores_meet_in_different_lanes(start: int, *, apart: bool) -> None:
    params = 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")'
    f = program(f"B[0:4] = A[0:4]\nB[{start}:{start} + 4] = A[4:8]", params)
    if apart:
        accepted(f, moves.swap((), 0))
    else:
        refused(f, moves.swap((), 0), "no dependence between the write and the write of B")


@pytest.mark.parametrize(("step", "apart"), [(4, True), (3, False)])
def test_lanes_of_two_iterations(step: int, *, apart: bool) -> None:
    params = 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")'
    f = program(f"for i in range(2):\n    B[i * {step} : i * {step} + 4] = A[0:4]", params)
    if apart:
        accepted(f, of_kind((), "parallel"))
    else:
        refused(f, of_kind((), "parallel"), "no two of its iterations write and write the same element of B")


def test_elements_of_different_instances_share_no_place() -> None:
    """Within one instance only one element is touched; the second round reads what the first one stored elsewhere."""
    f = program("""
t = T.alloc_buffer((4,), "int32")
for r in range(2):
    for i in range(4):
        if r == 0:
            t[i] = A[i]
        else:
            B[i] = t[i]
""")
    x = Var.fresh("x")
    refused(
        f, compact((), (x,), (const(0),), (const(1),)), "no two accessed elements of t are mapped to the same place"
    )
    accepted(f, compact((), (x,), (3 - x,), (const(4),), lambda y: (3 - y,)))


def test_what_one_iteration_loads_does_not_say_where_another_stores() -> None:
    """Iteration 1 stores to B[1] if its mask is true, iteration 0 if its own is false: perhaps neither does."""
    body = """
t = T.alloc_buffer((1,), "float32")
B[1] = 7
for i in range(3):
    t[0] = C[i]
    c = {} > T.float32(0)
    B.vstore([T.Ramp(i, 1, 2)], T.Broadcast(1, 2), predicate=T.Broadcast(c, 2))
    B.vstore([T.Ramp(i + 1, 1, 2)], T.Broadcast(2, 2), predicate=T.Broadcast(not c, 2))
"""
    params = 'B: T.Buffer((5,), "int32"), C: T.Buffer((4,), "float32"), x: T.float32'
    accepted(program(body.format("x"), params), Erase((0, 0), overwritten_by=1))
    refused(program(body.format("t[0]"), params), Erase((0, 0), overwritten_by=1), "it is certainly overwritten later")
