"""Index maps of buffers: what makes one exact, and what each of its parts must be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.kernel.programs import accepted, body_of, buffer, compact, load, program, refused, variable
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, TRUE, Broadcast, Var
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.rules.couple import Couple
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.merge_allocations import MergeAllocations
from verified_tir.kernel.rules.relayout import Relayout
from verified_tir.kernel.theorem import reflexive
from verified_tir.schedule.rule_builders import run_once

x, y, z = Var.fresh("x"), Var.fresh("y"), Var.fresh("z")
TEXT = 't = T.alloc_buffer((6,), "int32")\nfor i in range(4):\n    t[i] = A[i]\nB[0] = t[3]'
ABN = 'A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"), n: T.int32'
PAIRS = LayoutMap((x,), (x // 2, x % 2), (y, z), (y * 2 + z,), (const(3), const(2)), FALSE)
DOUBLED = LayoutMap((x,), (x * 2,), (y,), (y // 2,), (const(12),), binary("ne", y % 2, 0))
EXACT = "layout: the padding of A is exactly where no element is mapped (Refuted)"


def test_ranks_agree() -> None:
    f = program(TEXT)
    refused(f, Couple((), replace(PAIRS, shape=(const(6),))), "t has 1 dimensions and is accessed with 2 indices")
    refused(f, Couple((), replace(PAIRS, outputs=(x,))), "t has 2 dimensions and is accessed with 1 indices")
    less = replace(PAIRS, inverse_inputs=(y,), inverse=(y,))
    refused(f, Couple((), less), "t has 2 dimensions and is accessed with 1 indices")
    refused(f, Couple((), replace(PAIRS, inverse=(y, z))), "t has 1 dimensions and is accessed with 2 indices")
    refused(
        f, Couple((), replace(PAIRS, inputs=(x, Var.fresh("w")))), "t has 1 dimensions and is accessed with 2 indices"
    )


def test_a_map_does_not_read_memory() -> None:
    f = program(TEXT)
    one = load(buffer(f, "A"), 0)
    for wrong in (replace(DOUBLED, outputs=(x * 2 + one,)), replace(DOUBLED, inverse=(y // 2 + one,)),
                  replace(DOUBLED, shape=(one,)), replace(DOUBLED, padding=binary("eq", one, y))):  # fmt: skip
        refused(f, Couple((), wrong), "the map mentions A, which is not in scope")


def test_an_element_lives_where_it_is_mapped_to() -> None:
    """That the inverse gives an element of the old buffer is not enough."""
    f = program("B[0] = A[0]", 'A: T.Buffer((6,), "int32"), B: T.Buffer((4,), "int32")')
    a = buffer(f, "A")
    accepted(f, Relayout(a, DOUBLED, None))
    refused(f, Relayout(a, replace(DOUBLED, padding=FALSE), None), EXACT)
    refused(f, Relayout(a, replace(DOUBLED, padding=TRUE), None), EXACT)
    longer = replace(DOUBLED, shape=(const(14),))
    refused(f, Relayout(a, longer, None), EXACT)
    accepted(f, Relayout(a, replace(longer, padding=binary("or", y % 2 > 0, y >= 12)), None))


def test_padding_is_a_condition() -> None:
    f = program("B[0] = A[0]", 'A: T.Buffer((6,), "int32"), B: T.Buffer((4,), "int32")')
    for wrong, words in ((y, "int32"), (Broadcast(TRUE, 2), "boolx2")):
        refused(f, Relayout(buffer(f, "A"), replace(DOUBLED, padding=wrong), None), f"has type {words}; a bool")


def test_where_an_array_has_no_element_all_is_padding() -> None:
    """That each element has a place supposes that there is one; that the padding is exact does not."""
    f = program("B[0] = n", 'A: T.Buffer((n,), "int32"), B: T.Buffer((4,), "int32"), n: T.int32')
    n = variable(f, "n")
    roomy = LayoutMap((x,), (x,), (y,), (y,), (n + 1,), y >= n)
    accepted(f, Relayout(buffer(f, "A"), roomy, None))
    refused(f, Relayout(buffer(f, "A"), replace(roomy, padding=binary("and", y >= n, n > 0)), None), EXACT)


def test_a_single_element_becomes_one_of_several() -> None:
    f = program('t = T.alloc_buffer((), "int32")\nt[()] = A[0]\nB[0] = t[()]')
    row = LayoutMap((), (const(2),), (y,), (), (const(4),), FALSE)
    assert "t[2] = A[0]\nB[0] = t[2]" in body_of(accepted(f, Couple((), row)))


def test_the_new_shape_is_safe_and_not_negative() -> None:
    text = 't = T.alloc_buffer((n,), "int32")\nB[0] = 1'
    f = program(f"if n >= 0 and n < 100:\n    {text}".replace("\nB", "\n    B"), ABN)
    n = variable(f, "n")
    same = LayoutMap((x,), (x,), (y,), (y,), (n,), FALSE)
    accepted(f, Couple((0,), same))
    odd = replace(same, shape=(n * 2 - 1,), padding=y >= n)
    refused(f, Couple((0,), odd), "an extent that is not negative (Refuted)")
    refused(f, Couple((0,), replace(same, shape=(n + 8 // n * 0,))), "safety: 8 // n: no division by zero (Refuted)")


def test_vectors_move_with_a_map_that_adds_them() -> None:
    f = program(
        't = T.alloc_buffer((8,), "int32")\nfor i in range(8):\n    t[i] = i\nB[0:4] = t[0:4]',
        'A: T.Buffer((8,), "int32"), B: T.Buffer((4,), "int32")',
    )
    twice = LayoutMap((x,), (x + x,), (y,), (y // 2,), (const(16),), binary("ne", y % 2, 0))
    accepted(f, Couple((), twice))


@pytest.mark.parametrize("form", ["strides=[2]", "elem_offset=4"])
def test_a_local_buffer_of_another_form_stays(form: str) -> None:
    f = program(f't = T.alloc_buffer((4,), "int32", {form})\nt[0] = 1\nB[0] = t[0]')
    t = buffer(f, "t")
    w = Buffer.declare("w", (16,), "int32", data=t.data)
    if form == "strides=[2]":
        four = replace(DOUBLED, shape=(const(8),))
        refused(f, Couple((), four), "t has other views or strides")
        refused(f, compact((), (x,), (x,), (const(4),)), "t has other views or strides")
        refused(f, MergeAllocations((), (), w), "t has strides")
    else:
        refused(f, MergeAllocations((), (), w), "view: the block of w is large enough for t (Refuted)")


def test_a_block_is_row_major_and_starts_at_its_start() -> None:
    f = program('t = T.alloc_buffer((8,), "int32")\nt[0] = 1\nB[0] = t[0]')
    data = buffer(f, "t").data
    accepted(f, MergeAllocations((), (), Buffer.declare("w", (2, 4), "int32", data=data)))
    refused(f, MergeAllocations((), (), Buffer.declare("w", (8,), "int32", data=data, strides=(2,))), "w has strides")
    offset = Buffer.declare("w", (16,), "int32", data=data, elem_offset=4)
    refused(f, MergeAllocations((), (), offset), "view: the block of w is large enough for t (Refuted)")


def test_two_negative_extents_make_no_block() -> None:
    """Their product is large enough."""
    f = program('if n == -2:\n    t = T.alloc_buffer((8,), "int32")\n    t[0] = 1\n    B[0] = t[0]', ABN)
    n, data = variable(f, "n"), buffer(f, "t").data
    accepted(f, MergeAllocations((0,), (), Buffer.declare("w", (n + 4, n + 6), "int32", data=data)))
    block = Buffer.declare("w", (n, n * 2), "int32", data=data)
    refused(f, MergeAllocations((0,), (), block), "an extent that is not negative (Refuted)")
    text = 'for k in range(1):\n    {0} = T.alloc_buffer((8,), "int32")\n    {0}[0] = 1\n    B[0] = {0}[0]\n'
    both = (text.format("t") + text.format("u")).replace("\n", "\n    ").rstrip()
    f = program(f"if n == -2:\n    {both}", ABN)
    n = variable(f, "n")
    scoped = accepted(f, run_once((0, 0)), run_once((0, 1)))
    accepted(scoped, MergeAllocations((0,), (0, 1), Buffer.declare("w", (2, 4), "int32")))
    refused(scoped, MergeAllocations((0,), (0, 1), Buffer.declare("w", (n, n * 2), "int32")), "not negative (Refuted)")
    refused(
        scoped,
        MergeAllocations((), (0, 1), Buffer.declare("w", (8,), "int32")),
        "no buffer is allocated here",
    )


# -- parameters --------------------------------------------------------------------------------------------------------

FOUR = LayoutMap((x,), (x,), (y,), (y,), (const(5),), binary("ge", y, 4))


def test_what_the_padding_of_a_parameter_may_be() -> None:
    f = program("B[0] = A[0]", ABN)
    a, b, n = buffer(f, "A"), buffer(f, "B"), variable(f, "n")
    for value in (const(0), n, y):
        accepted(f, Relayout(a, FOUR, value))
    accepted(reflexive(f, definite=True), Relayout(a, FOUR, load(a, 0)))
    refused(f, Relayout(a, FOUR, load(a, 0)), "holds its value at the end")  # A[0] may be undef, and get a value later
    refused(f, Relayout(a, FOUR, load(b, 0)), "the padding's value mentions B")
    refused(f, Relayout(a, FOUR, Var.fresh("q")), "the padding's value mentions q")
    refused(f, Relayout(a, FOUR, x), "the padding's value mentions x")


def test_whose_layout_others_see_stays() -> None:
    call = 'T.evaluate(T.call_extern("int32", "g", {}.data))\nB[0] = A[0]'
    for name in ("A", "B"):
        f = program(call.format(name), ABN)
        refused(f, Relayout(buffer(f, "A"), FOUR, None), "an opaque call could see the parameter's layout")
    f = program("B[0] = A[0]", ABN.replace('A: T.Buffer((4,), "int32"', 'A: T.Buffer((4,), "int32", strides=[2]'))
    refused(f, Relayout(buffer(f, "A"), FOUR, None), "A has other views or strides")
