"""Statements that stay although each read that is easily found sees a later write; and what does not keep them."""

from __future__ import annotations

from tests.kernel.programs import AB, accepted, gives, program, refused
from verified_tir.kernel.rules.erase import Erase

ALLOC = 't = T.alloc_buffer((4,), "int32")'


def test_a_label_is_what_it_holds() -> None:
    text = ALLOC + '\nt[0] = 1\nwith T.sblock("b"):\n    {}'
    gives(
        program(text.format("B[0] = 2")), Erase((0, 0), dead_at_end=True), ALLOC + '\nwith T.sblock("b"):\n    B[0] = 2'
    )
    refused(program(text.format("B[0] = t[0]")), Erase((0, 0), dead_at_end=True), "the store to t is dead")


def test_an_opaque_call_reads_local_buffers() -> None:
    text = ALLOC + '\nt[0] = 1\nT.evaluate(T.call_extern("int32", "g", {}.data))\nB[0] = 2'
    for rule in (Erase((0, 0)), Erase((0, 0), dead_at_end=True), Erase((0, 0), overwritten_by=2)):
        refused(program(text.format("t")), rule, "")
    accepted(program(ALLOC + "\nt[0] = 1\nB[0] = 2"), Erase((0, 0)))


def test_an_iteration_of_a_while_loop_may_be_the_first() -> None:
    text = ALLOC + "\nt[0] = 1\nwhile n > 0:\n    {}\n    {}"
    loads, stores, params = "A[0] = t[0]", "t[0] = 2", AB + ", n: T.int32"
    gives(program(text.format(stores, loads), params), Erase((0, 0), dead_at_end=True), ALLOC + "\n" + "\n".join(
        text.format(stores, loads).split("\n")[2:]))  # fmt: skip
    refused(program(text.format(loads, stores), params), Erase((0, 0), dead_at_end=True), "no later read sees it")


def test_only_loops_inside_of_the_allocation_count() -> None:
    """What an iteration leaves in t is gone with t, though another buffer lives on."""
    inner = "\n        ".join((ALLOC, "{}t[0] = u[0]", "B[k] = t[0]"))
    text = f'u = T.alloc_buffer((1,), "int32")\nu[0] = 7\nfor k in range(4):\n    if A[k] > 0:\n        {inner}'
    gives(program(text.format("t[0] = A[0]\n        ")), Erase((0, 1, 0, 0, 0, 0), dead_at_end=True), text.format(""))
