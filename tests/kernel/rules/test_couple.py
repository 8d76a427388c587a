"""The elements of a local buffer move."""

from __future__ import annotations

from dataclasses import replace

from tests.kernel.programs import accepted, compact, gives, load, program, refused, variable
from verified_tir.ir.expr import FALSE, TRUE, Expr, Var
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.rules.couple import Couple
from verified_tir.kernel.rules.layout import LayoutMap

TEXT = """
t = T.alloc_buffer((6,), "int32")
for i in range(4):
    t[i] = A[i]
B[0] = t[3]
"""
x, y, z = Var.fresh("x"), Var.fresh("y"), Var.fresh("z")
PAIRS = LayoutMap((x,), (x // 2, x % 2), (y, z), (y * 2 + z,), (const(3), const(2)), FALSE)


RESULT = """
t = T.alloc_buffer((3, 2), "int32")
for i in range(4):
    t[i // 2, i % 2] = A[i]
B[0] = t[T.FloorDiv(3, 2), T.FloorMod(3, 2)]
"""


def test_storage() -> None:
    gives(program(TEXT), Couple((), PAIRS), RESULT)


def reversed_(extent: Expr) -> LayoutMap:
    return LayoutMap((x,), (extent - 1 - x,), (y,), (extent - 1 - y,), (extent,), FALSE)


def test_what_is_wrong_with_a_map() -> None:
    f = program(TEXT)
    in_shape = "layout: every element of t lies within the new shape (Refuted)"
    refused(f, Couple((), replace(PAIRS, shape=(const(2), const(2)))), in_shape)
    refused(f, Couple((), reversed_(const(5))), in_shape)
    apart = "layout: no two elements of t are mapped to the same place (Refuted)"
    refused(f, Couple((), replace(PAIRS, outputs=(x // 2, x % 1))), apart)
    refused(f, Couple((), replace(PAIRS, inverse=(y * 2,))), apart)
    accepted(f, Couple((), replace(PAIRS, padding=TRUE)))  # nobody asks what a local buffer holds elsewhere
    accepted(f, Couple((), replace(PAIRS, shape=(const(4), const(2)))))
    wider = replace(PAIRS, shape=(const(4), const(2)), padding=binary("eq", y, 3))
    gives(f, Couple((), wider), RESULT.replace("(3, 2)", "(4, 2)", 1))
    unsafe = replace(PAIRS, outputs=(x // (x - 5), x % 2))
    refused(f, Couple((), unsafe), "safety: x // (x - 5): no division by zero (Refuted)")
    refused(f, Couple((), replace(PAIRS, shape=(const(-1), const(-2)))), "the negative extent -1")


def test_vector_accesses_move_lane_by_lane() -> None:
    head = 't = T.alloc_buffer((6,), "int32")\nfor i in range(3):\n'
    f = program(head + "    t[i * 2:i * 2 + 2] = A[0:2]\nB[0:2] = t[T.Ramp(1, 3, 2)]")
    back = replace(PAIRS, outputs=(5 - x,), inverse_inputs=(y,), inverse=(5 - y,), shape=(const(6),), padding=FALSE)
    gives(
        f,
        Couple((), back),
        't = T.alloc_buffer((6,), "int32")\nfor i in range(3):\n'
        "    t[T.Broadcast(5, 2) - T.Ramp(i * 2, 1, 2)] = A[T.Ramp(0, 1, 2)]\n"
        "B[0:2] = t[T.Broadcast(5, 2) - T.Ramp(1, 3, 2)]",
    )
    shifted = compact((), (x,), (x * 2 + 1,), (const(12),), lambda y: (y // 2,))
    gives(
        f,
        shifted,
        't = T.alloc_buffer((12,), "int32")\nfor i in range(3):\n'
        "    t[T.Ramp(i * 2, 1, 2) * T.Broadcast(2, 2) + T.Broadcast(1, 2)] = A[T.Ramp(0, 1, 2)]\n"
        "B[0:2] = t[T.Ramp(1, 3, 2) * T.Broadcast(2, 2) + T.Broadcast(1, 2)]",
    )
    refused(
        f,
        compact((), (x,), (x // 2,), (const(3),), lambda y: (y * 2,)),
        "no two accessed elements of t are mapped to the same place",
    )


def test_what_does_not_fit() -> None:
    viewed = program('t = T.alloc_buffer((6,), "int32")\nv = T.decl_buffer((3, 2), "int32", data=t.data)\nv[0, 0] = 1')
    refused(viewed, Couple((), PAIRS), "t has other views or strides")
    vector = program('t = T.alloc_buffer((6,), "int32")\nt[0:2] = T.Broadcast(1, 2)')
    refused(vector, Couple((), PAIRS), "operands of floordiv differ in type: int32x2 and int32")
    refused(program(TEXT), Couple((0,), PAIRS), "no buffer is allocated here")
    memory = replace(PAIRS, outputs=(x // 2, Var.fresh("w")))
    refused(program(TEXT), Couple((), memory), "the map mentions w, which is not in scope")


TILES = """
for i in range(2):
    t = T.alloc_buffer(({}), "int32")
    for j in range(2):
        t[{}] = A[2 * i + j]
    for j in range(2):
        B[2 * i + j] = t[{}]
"""


def test_compact() -> None:
    f = program(TILES.format("4,", "2 * i + j", "2 * i + j"))
    i = variable(f, "i")
    body = TILES.format("2,", "2 * i + j - i * 2", "2 * i + j - i * 2")
    gives(f, compact((0,), (x,), (x - i * 2,), (const(2),), lambda y: (y + i * 2,)), body)
    moduli = TILES.format("1, 2", "0, T.FloorMod(2 * i + j, 2)", "0, T.FloorMod(2 * i + j, 2)")
    gives(
        f,
        compact((0,), (x,), (const(0), x % 2), (const(1), const(2)), lambda _, y: (y + i * 2,)),
        moduli.replace("T.FloorMod(2 * i + j, 2)", "(2 * i + j) % 2"),
    )


def test_what_is_wrong_with_a_compaction() -> None:
    f = program(TILES.format("4,", "2 * i + j", "2 * i + j"))
    i = variable(f, "i")
    fits = "layout: every accessed element of t lies within the new shape (Refuted)"
    refused(f, compact((0,), (x,), (x - i * 2,), (const(1),), lambda y: (y + i * 2,)), fits)
    refused(f, compact((0,), (x,), (x - i,), (const(2),), lambda y: (y + i,)), fits)
    refused(f, compact((0,), (x,), (x % 2 - 1,), (const(2),), lambda y: (y + 1 + i * 2,)), fits)
    apart = "layout: no two accessed elements of t are mapped to the same place (Refuted)"
    refused(f, compact((0,), (x,), (x // 4,), (const(1),), lambda y: (y + i * 2,)), apart)
    refused(f, compact((0,), (x,), (x - i * 2,), (const(2),)), apart)  # the inverse must fit, too
    refused(f, compact((0,), (x,), (4 // (x - 1) * 0 + x % 2,), (const(2),)), "no division by zero (Refuted)")
    refused(f, compact((0,), (x,), (x,), (i - 1,)), "an extent that is not negative (Refuted)")
    wide = program(TILES.format("4,", "2 * i + j", "3 - j"))  # what is read elsewhere counts as touched
    k = variable(wide, "i")
    refused(wide, compact((0,), (x,), (x - k * 2,), (const(2),), lambda y: (y + k * 2,)), fits)


def test_what_else_is_touched_is_no_element_of_it() -> None:
    """B[0] is far from the window of the second iteration; a read of what was never stored is in it."""
    f = program(TILES.format("4,", "2 * i + j", "2 * i + j").replace("B[2 * i + j] = t", "B[0] = A[0] + t"))
    i = variable(f, "i")
    accepted(f, compact((0,), (x,), (x - i * 2,), (const(2),), lambda y: (y + i * 2,)))
    unwritten = program("t = T.alloc_buffer((4,), 'int32')\nB[0] = t[1]")
    accepted(unwritten, compact((), (x,), (x - 1,), (const(1),), lambda y: (y + 1,)))
    refused(unwritten, compact((), (x,), (x,), (const(1),)), "every accessed element of t lies within the new shape")


def test_what_does_not_fit_a_compaction() -> None:
    f = program(TILES.format("4,", "2 * i + j", "2 * i + j"))
    a, j = f.buffer_named("A"), variable(f, "j")
    two = (const(2),)
    refused(f, compact((0,), (x, y), (x,), two), "t has 1 dimensions and is accessed with 2 indices")
    refused(f, compact((0,), (x,), (x, x), two), "t has 1 dimensions and is accessed with 2 indices")
    for wrong in ((load(a, 0) * 0 + x % 2,), two), ((x % 2,), (load(a, 0),)):
        refused(f, compact((0,), (x,), *wrong), "the map mentions A, which is not in scope")
    refused(f, compact((0,), (x,), (x % 2 + (j - j),), two), "the map mentions j, which is not in scope")
    refused(f, compact((0,), (x,), (x % 2,), two, lambda y: (y + j,)), "the map mentions j, which is not in scope")
    refused(f, compact((), (x,), (x % 2,), two), "no buffer is allocated here")


def test_what_a_function_computes_from_an_element_does_not_know_where_it_is() -> None:
    text = TEXT.replace("B[0] = t[3]", "B[0] = {}")
    accepted(program(text.format("T.abs(t[3])")), Couple((), PAIRS))
    opaque = program(text.format("T.call_extern('int32', 'g', t[3])"))
    refused(opaque, Couple((), PAIRS), "the address of an element of t may escape to an opaque call")
