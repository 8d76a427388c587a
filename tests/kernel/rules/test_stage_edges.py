"""Copies of a region, where it is tight; and allocations that sink: reads that see no write of their own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.kernel.programs import AB, accepted, body_of, buffer, program, refused, variable
from tests.kernel.rules.test_stage import window
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.sugar import const
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.scope import Declare
from verified_tir.kernel.rules.stage import Stage
from verified_tir.schedule.rule_builders import RuleBuilder, moved

ABN = AB + ", n: T.int32"
ALLOC = 't = T.alloc_buffer((4,), "int32")\n'
CARRIED = "scope: the read of t sees a write of its own iteration (Refuted)"
MISSES = "each access without going through c misses the region"
VIEW = 'v = T.decl_buffer((4,), "int32", data=B.data)\n'


def reason(f: PrimFunc, rule: Stage | Declare | RuleBuilder) -> str:
    return refused(f, rule, "").reason  # type: ignore[union-attr, no-any-return]


def test_the_predicate_of_a_block_is_a_read() -> None:
    """The copy is undefined before the block stores to it."""
    text = 'with T.{}("b"):\n    {}B[0] = 1'
    f = program(text.format("block", "T.where(B[0] > 0)\n    "))
    rule = Stage((), buffer(f, "B"), window(0, 1), "c", copy_out=True)
    assert reason(f, rule).endswith("its blocks are not expanded")
    f = program(text.format("sblock", ""))
    accepted(f, replace(rule, buffer=buffer(f, "B")), Erase((0, 0), dead_at_end=True))


def test_the_variables_of_the_copy_are_fresh_and_distinct() -> None:
    f = program("for i in range(4):\n    C[0, i] = A[i]", 'A: T.Buffer((4,), "int32"), C: T.Buffer((4, 4), "int32")')
    i, (x, z, p, q) = variable(f, "i"), (Var.fresh(name) for name in "xzpq")
    c = buffer(f, "C")

    def stage(*names: Var) -> Stage:
        layout = LayoutMap((x, z), (x, z), names, (names[0], names[1]), (const(4), const(4)), FALSE)
        return Stage((), c, layout, "c", copy_out=True)

    accepted(f, stage(p, q))
    assert reason(f, stage(p, p)) == "two indices of the map have one variable"
    for wrong in (stage(i, q), stage(p, i)):
        assert reason(f, wrong).endswith("i is bound twice")


@pytest.mark.parametrize("out", [False, True])
def test_a_view_is_copied_where_it_is_declared(out: bool) -> None:
    f = program(VIEW + ("v[0] = 1" if out else "A[0] = v[0]"))
    v = buffer(f, "v")
    rule = Stage((), v, window(0, 1), "c", copy_out=out)
    assert reason(f, rule).endswith("buffer v is not declared here")
    accepted(f, replace(rule, path=(0,)))


def test_what_is_read_through_another_view_may_come_after_a_store() -> None:
    """It does not go to the copy: what is stored in between it is to see."""
    text = VIEW + "for k in range(1):\n    A[0] = B[0]\n    B[0] = 5\n    A[1] = {}"
    f = program(text.format("v[0]"))
    rule = Stage((0,), buffer(f, "B"), window(0, 1), "c")
    assert "A[0] = c[0]" in body_of(accepted(f, rule)) and "A[1] = v[0]" in body_of(accepted(f, rule))
    f = program(text.format("B[0]"))
    refused(f, replace(rule, buffer=buffer(f, "B")), "comes after its last read (Refuted)")


def test_padding_of_the_copy_is_no_part_of_the_region() -> None:
    text = VIEW + "for j in range(3):\n    B[j] = A[j]\n    v[{}] = 7"
    layout = window(0, 4, inside=3)
    for other, fine in ((3, True), (2, False)):
        f = program(text.format(other))
        rule = Stage((0,), buffer(f, "B"), layout, "c", copy_out=True)
        accepted(f, rule) if fine else refused(f, rule, MISSES)


def test_lanes_of_an_element() -> None:
    """The region is one element of four lanes; v[4] is the first lane of the next one."""
    text = 'v = T.decl_buffer((16,), "float32", data=B.data)\nfor j in range(1):\n    B[0] = A[0]\n    v[{}] = v[8]'
    lanes = 'A: T.Buffer((4,), "float32x4"), B: T.Buffer((4,), "float32x4")'
    for other, fine in ((4, True), (3, False), (0, False)):
        f = program(text.format(other), lanes)
        rule = Stage((0,), buffer(f, "B"), window(0, 1), "c", copy_out=True)
        accepted(f, rule) if fine else refused(f, rule, MISSES)


# -- reads that see a write of the same run ----------------------------------------------------------------------------


def test_a_condition_of_a_while_loop_is_evaluated_again() -> None:
    """At first it reads t[0], which was written since; and then t[1], which was not."""
    text = ALLOC + "t[1] = 5\nt[0] = 1\nt[2] = 0\nB[0] = 0\nwhile t[{}] > 0:\n    B[0] = B[0] + 1"
    accepted(program(text.format("0").replace("B[0] = B[0]", "t[0] = B[0]")), Erase((0, 0), dead_at_end=True))
    refused(program(text.format("B[0]")), Erase((0, 0), dead_at_end=True), "no later read sees it (Refuted)")


def test_a_read_that_is_not_evaluated_sees_no_write() -> None:
    text = (
        ALLOC + "for i in range(3):\n    if n > 0:\n        t[0] = A[i]\n    B[i] = T.if_then_else(n > {}, t[0], A[i])"
    )
    accepted(program(text.format(0), ABN), moved((), "sink"))
    refused(program(text.format(-1), ABN), moved((), "sink"), CARRIED)


def test_what_an_earlier_iteration_left_is_no_write() -> None:
    text = ALLOC + "for i in range(3):\n    {}\n    t[0] = i"
    refused(program(text.format("if i > 0:\n        B[i] = t[0]")), moved((), "sink"), CARRIED)


def test_what_is_known_before_the_loop_is_not_known_in_it() -> None:
    """Only the first iteration finds A[0] == 0, and writes t[0] before it reads it."""
    text = "A[0] = 0\n" + ALLOC + "for i in range(3):\n    if A[0] == 0:\n        t[0] = i\n    {}\n    B[i] = t[0]"
    refused(program(text.format("A[0] = 1")), moved((1,), "sink"), CARRIED)
    accepted(program(text.format("A[1] = 1")), moved((1,), "sink"))


def test_a_buffer_that_is_never_written() -> None:
    """A[0] stays 0, so t is not read."""
    text = "A[0] = 0\n" + ALLOC + "for i in range(1, 3):\n    A[i] = i\n    if A[0] > 0:\n        B[i] = t[0]"
    accepted(program(text), moved((1,), "sink"))


# -- allocations -------------------------------------------------------------------------------------------------------


def test_strides_are_safe_and_in_scope() -> None:
    f = program("for i in range(4):\n    A[i] = i\nB[0] = n", ABN)
    i, n = variable(f, "i"), variable(f, "n")
    refused(f, Declare((1,), Buffer.declare("t", (i,), "int32")), "variable i is not in scope here")
    strided = Buffer.declare("t", (2,), "int32", strides=(4 // n,))
    refused(f, Declare((1,), strided), "safety: 4 // n: no division by zero (Refuted)")


def test_extents_keep_an_allocation_where_it_is() -> None:
    f = program('A[0] = 2\nt = T.alloc_buffer((A[0],), "int32")\nB[0] = 1\nA[0] = 1\nB[1] = t[0]')
    assert "reads memory" in reason(f, moved((1,), "narrow"))
    for form in ("(t[0],), 'int32'", "(2,), 'int32', strides=[t[0]]", "(2,), 'int32', elem_offset=t[0]"):
        f = program(ALLOC + f"u = T.alloc_buffer({form})\nt[0] = 1\nu[0] = t[0]")
        assert "an extent of u reads memory" in reason(f, moved((), "narrow"))
