"""A statement works on a copy of a region."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.kernel.faults import instances_share_loads, stores_change_nothing
from tests.kernel.programs import accepted, body_of, buffer, gives, load, program, refused, store, variable
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import INT32
from verified_tir.ir.expr import FALSE, Call, Expr, Not, StringImm, Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import DeclBuffer, Evaluate, seq
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.obligation import Unproved
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.relayout import Relayout
from verified_tir.kernel.rules.stage import Stage
from verified_tir.kernel.theorem import Refines, apply, reflexive
from verified_tir.logic.solver import Solver

TILES = """
for i in range(4):
    for k in range(8):
        for j in range(4):
            if k == 0:
                C[4 * i + j] = T.float32(0.0)
            C[4 * i + j] = C[4 * i + j] + A[i, k]
"""
PARAMS = 'A: T.Buffer((4, 8), "float32"), C: T.Buffer((16,), "float32")'


NOT_WANTED = Erase((0, 0, 0), dead_at_end=True)
"""The copy in, of a tile: the statement writes all that it reads, and all that is copied out."""
UNWRITTEN = "dead-store: the store to {} is dead: no later read sees it (Refuted)"


def window(start: Expr | int, extent: Expr | int, step: int = 1, inside: int | None = None) -> LayoutMap:
    """Elements ``start + step * y`` of a buffer of one dimension (the first ``inside`` of them, if given)."""
    x, y = Var.fresh("x"), Var.fresh("y")
    phi = x - const(start) if step == 1 else (x - const(start)) // step
    inverse = y + const(start) if step == 1 else y * step + const(start)
    padding = FALSE if inside is None else Not(binary("lt", y, inside))
    return LayoutMap((x,), (phi,), (y,), (inverse,), (const(extent),), padding)


def tile(f: PrimFunc, **changed: object) -> Stage:
    """Four elements of C, in and out."""
    layout = window(4 * variable(f, "i"), 4)
    return replace(Stage((0,), buffer(f, "C"), layout, "c", "local", copy_out=True), **changed)  # type: ignore[arg-type]


def test_what_is_written_is_copied_in_and_out() -> None:
    f = program(TILES, PARAMS)
    gives(
        f,
        tile(f),
        """
for i in range(4):
    c = T.alloc_buffer((4,), "float32", scope="local")
    for y in range(4):
        c[y] = C[y + 4 * i]
    for k, j in T.grid(8, 4):
        if k == 0:
            c[4 * i + j - 4 * i] = T.float32(0.0)
        c[4 * i + j - 4 * i] = c[4 * i + j - 4 * i] + A[i, k]
    for y in range(4):
        C[y + 4 * i] = c[y]
""",
    )


def test_what_is_written_first_need_not_be_copied_in() -> None:
    f = program(TILES, PARAMS)
    gives(
        accepted(f, tile(f)),
        NOT_WANTED,
        """
for i in range(4):
    c = T.alloc_buffer((4,), "float32", scope="local")
    for k, j in T.grid(8, 4):
        if k == 0:
            c[4 * i + j - 4 * i] = T.float32(0.0)
        c[4 * i + j - 4 * i] = c[4 * i + j - 4 * i] + A[i, k]
    for y in range(4):
        C[y + 4 * i] = c[y]
""",
    )
    late = program(TILES.replace("k == 0", "k == 1"), PARAMS)
    refused(accepted(late, tile(late)), NOT_WANTED, UNWRITTEN.format("c"))
    less = program(TILES.replace("range(4):\n            if", "range(3):\n            if"), PARAMS)
    refused(accepted(less, tile(less)), NOT_WANTED, UNWRITTEN.format("c"))


def test_what_is_read_is_copied_in() -> None:
    f = program("for i in range(4):\n    for j in range(3):\n        B[i] = B[i] + A[i + j]", SIX)
    gives(
        f,
        Stage((0,), buffer(f, "A"), window(variable(f, "i"), 3), "a", "shared"),
        """
for i in range(4):
    a = T.alloc_buffer((3,), "int32", scope="shared")
    for y in range(3):
        a[y] = A[y + i]
    for j in range(3):
        B[i] = B[i] + a[i + j - i]
""",
    )


SIX = 'A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")'
LIES, MISSES, PLACE = "lies in the region (Refuted)", "misses the region", "has one place in c (Refuted)"
LATE = "comes after its last read (Refuted)"


def read(f: PrimFunc, layout: LayoutMap) -> Stage:
    return Stage((), buffer(f, "A"), layout, "c")


def written(f: PrimFunc, layout: LayoutMap) -> Stage:
    return Stage((), buffer(f, "A"), layout, "c", "global", copy_out=True)


def only_out(path: Path = ()) -> Erase:
    """The copy in goes, where a statement at ``path`` was staged."""
    return Erase((*path, 0, 0), dead_at_end=True)


@pytest.mark.parametrize(
    ("layout", "refusal"),
    [
        (window(0, 4), None),
        (window(0, 6), None),
        (window(1, 4), f"what reads A {LIES}"),
        (window(0, 3), f"what reads A {LIES}"),
        (window(0, 2, step=2), f"what reads A {LIES}"),
        (window(0, 8), "safety: A[y]: in bounds (Refuted)"),
        (window(0, 8, inside=6), None),
        (window(0, 8, inside=4), None),
        (window(0, 8, inside=3), f"what reads A {LIES}"),
        (window(0, 8, inside=7), "safety: A[y]: in bounds (Refuted)"),
    ],
)
def test_the_region_holds_what_is_accessed(layout: LayoutMap, refusal: str | None) -> None:
    f = program("for i in range(4):\n    B[i] = A[i]", SIX)
    g = program("for i in range(4):\n    A[i] = A[i] + 1", SIX)
    if refusal is None:
        accepted(f, read(f, layout))
        accepted(g, written(g, layout))
    else:
        refused(f, read(f, layout), refusal)
        refused(g, written(g, layout), refusal)


def test_guards_appear_where_the_region_is_not_a_box() -> None:
    f = program("for i in range(4):\n    A[i] = A[i] + 1", SIX)
    gives(
        f,
        written(f, window(0, 8, inside=6)),
        """
c = T.alloc_buffer((8,), "int32")
for y in range(8):
    if y < 6:
        c[y] = A[y]
for i in range(4):
    c[i] = c[i] + 1
for y in range(8):
    if y < 6:
        A[y] = c[y]
""",
    )


def test_an_access_that_never_happens_need_not_fit() -> None:
    text = "for i in range(4):\n    B[i] = T.if_then_else(i < {}, A[i], 0)"
    f, g = program(text.format(3), SIX), program(text.format(4), SIX)
    accepted(f, read(f, window(0, 3)))
    refused(g, read(g, window(0, 3)), LIES)


# ------------------------------------------------------------------------------------------ the region and its copy


def test_one_place_for_each_element() -> None:
    f = program("A[0] = A[0] + 1", SIX)
    g = program("B[0] = A[0]", SIX)
    x, y = Var.fresh("x"), Var.fresh("y")
    twice = LayoutMap((x,), (x,), (y,), (y % 2,), (const(4),), FALSE)
    refused(f, written(f, twice), PLACE)
    accepted(g, read(g, twice))  # the other copy is not looked at
    accepted(f, written(f, replace(twice, shape=(const(2),))))
    merged = LayoutMap((x,), (x * 0,), (y,), (y,), (const(2),), FALSE)
    refused(program("for i in range(2):\n    B[i] = A[i]", SIX), read(f, merged), "buffer A is not declared here")
    two = program("for i in range(2):\n    B[i] = A[i]", SIX)
    refused(two, read(two, merged), LIES)


def test_the_copy_covers_what_was_written_and_nothing_stale() -> None:
    f = program("for i in range(4):\n    A[i] = i", SIX)
    accepted(f, written(f, window(0, 4)), only_out())
    refused(accepted(f, written(f, window(0, 5))), only_out(), UNWRITTEN.format("c"))
    some = program("for i in range(4):\n    if B[i] > 0:\n        A[i] = i", SIX)
    refused(accepted(some, written(some, window(0, 4))), only_out(), UNWRITTEN.format("c"))
    none = program("for i in range(n):\n    A[i] = i", SIX + ", n: T.int32")
    refused(none, written(none, window(0, 1)), LIES)
    accepted(none, written(none, window(0, binary("max", variable(none, "n"), 0), inside=6)), only_out())


def test_an_undefined_buffer_need_not_be_written_whole() -> None:
    text = 't = T.alloc_buffer((6,), "int32")\n{}\nif B[0] > 0:\n    t[1] = t[0] + 1\nA[0] = t[1]'
    f, g = program(text.format("B[1] = 0"), SIX), program(text.format("t[1] = 0"), SIX)
    layout = window(0, 2)
    accepted(f, Stage((0, 1), buffer(f, "t"), layout, "c", copy_out=True), only_out((0, 1)))
    both = accepted(g, Stage((0, 1), buffer(g, "t"), layout, "c", copy_out=True))
    refused(both, only_out((0, 1)), UNWRITTEN.format("c"))


# ---------------------------------------------------------------------------------------------------------- aliases

VIEWED = """
V = T.decl_buffer((2, 3), "int32", data=A.data)
for i in range(2):
    {}
"""


@pytest.mark.parametrize(
    ("statement", "reading", "writing"),
    [
        ("A[i] = B[i] + V[1, i]", None, None),
        ("A[i] = B[i] + V[0, i]", None, "reads A"),
        ("A[i] = B[i]\n    V[1, i] = 0", None, None),
        ("A[i] = B[i]\n    V[0, i] = 0", None, "writes A"),
        ("B[i] = A[i] + V[0, i]", True, None),
        ("B[i] = A[i]\n    V[1, i] = 0", True, None),
        ("B[i] = A[i]\n    V[0, 2] = 0", True, None),
        ("B[i] = A[i]\n    V[0, i] = 0", True, None),
        ("B[i] = A[i]\n    V[0, 1] = 0", False, None),
        ("V[0, i] = 0\n    B[i] = A[i]", False, None),
    ],
)
def test_other_views_miss_the_region_or_only_read_it(statement: str, reading: bool | None, writing: str | None) -> None:
    """``writing``: what is refused when all is copied; ``reading``: whether the copy in alone is accepted."""
    f = program(VIEWED.format(statement), SIX)
    b = buffer(f, "A")
    if reading is not None:
        stage = Stage((0,), b, window(0, 3), "c")
        accepted(f, stage) if reading else refused(f, stage, f"writes V without going through c {LATE}")
        return
    stage = Stage((0,), b, window(0, 3), "c", "global", copy_out=True)
    if writing is None:
        accepted(f, stage)
    else:
        met = f"no dependence between the {writing.replace('s A', '')} and the write of V (Refuted)"
        refused(f, stage, f"each access without going through c {MISSES}: {met}")


def test_what_is_copied_in_only_is_overwritten_after_its_last_read() -> None:
    text = "for i in range(3):\n    B[i] = A[i]\n    A[{}] = 0"
    f, g, h = (program(text.format(e), SIX) for e in ("i + 3", "i", "2 - i"))
    accepted(f, read(f, window(0, 3)))
    accepted(g, read(g, window(0, 3)))
    refused(h, read(h, window(0, 3)), f"what writes A without going through c {LATE}")
    accepted(h, written(h, window(0, 3)))
    refused(f, written(f, window(0, 3)), f"what writes A {LIES}")


@pytest.mark.parametrize(
    ("body", "right"),
    [
        ("for i in range(3):\n    A[i] = A[i + 1]", True),
        ("for i in range(3):\n    A[i + 1] = A[i]", False),
        ("for i in range(3):\n    A[i + 1] = A[i + 1] + 1", True),
        ("for i in range(3):\n    if A[i] > 0:\n        A[i] = 1", True),
        ("for i in range(3):\n    if A[i] > 0:\n        A[i + 1] = 1", False),
        ("for i in range(2):\n    for j in range(A[i]):\n        A[i] = j", True),
        ("for i in range(2):\n    for j in range(A[i]):\n        A[1] = j", False),
        ("for r in range(2):\n    for i in range(3):\n        A[i] = A[i] + 1", False),
        ("for i in range(2):\n    for j in range(2):\n        A[2 * i + j] = A[2 * i + 1 - j]", False),
        ("for i in range(2):\n    B[i] = A[B[i] % 4]\n    A[B[5] % 4] = 0", False),
        ("if B[0] > 0:\n    A[1] = 0\nelse:\n    B[1] = A[1]", True),
        ("for i in range(2):\n    if i == 0:\n        A[1] = 0\n    else:\n        B[1] = A[1]", False),
        ("for i in range(1):\n    A[i + 1] = A[i]", True),
        ("for i in range(3):\n    A[i + 1] = 0\n    B[i] = A[i]", False),
        ("for i in range(3):\n    A[i] = 0\n    B[i] = A[i + 1]", True),
        ("for i in range(-1):\n    A[1] = A[1] + A[2]", True),
    ],
)
def test_each_read_comes_before_the_stores_that_it_must_not_see(body: str, right: bool) -> None:
    """Stores through the buffer itself, which the copy does not see: right where every read comes first."""
    f = program(body, SIX)
    rule = read(f, window(0, 4))
    accepted(f, rule) if right else refused(f, rule, f"without going through c {LATE}")


def test_a_while_loop_does_not_tell_its_iterations_apart() -> None:
    text = "while B[0] > 0:\n    B[0] = B[0] - A[{}]\n    A[0] = 1"
    f, g = program(text.format(0), SIX), program(text.format(4), SIX)
    refused(f, read(f, window(0, 4)), f"what writes A without going through c {LATE}")
    accepted(g, read(g, window(0, 6)))
    before = program("while B[0] > 0:\n    A[1] = A[0]\n    B[0] = B[0] - 1\n    A[0] = 1", SIX)
    refused(before, read(before, window(0, 1)), f"what writes A without going through c {LATE}")


# ------------------------------------------------------------------------------------------------- some of the reads

THREE = """
for i in range(4):
    B[i] = A[i]
A[0] = 5
for i in range(4):
    B[i] = B[i] + A[i]
"""


def test_some_of_the_reads_go_to_the_copy() -> None:
    f = program(THREE, SIX)
    whole = read(f, window(0, 4))
    gives(
        f,
        replace(whole, only=((0,),)),
        """
c = T.alloc_buffer((4,), "int32")
for y in range(4):
    c[y] = A[y]
for i in range(4):
    B[i] = c[i]
A[0] = 5
for i in range(4):
    B[i] = B[i] + A[i]
""",
    )
    for only in ((), ((2,),), ((0,), (2,)), ((2, 0),)):
        refused(f, replace(whole, only=only), f"what writes A without going through c {LATE}")


def test_reads_at_two_places_go_to_the_copy_and_stores_stay() -> None:
    f = program(THREE.replace("A[0] = 5", "A[0] = A[5]").replace("B[i] = A[i]", "A[i] = A[i] + 1", 1), SIX)
    refused(f, replace(read(f, window(0, 4)), only=((0,), (2,))), LATE)
    f = program(THREE.replace("A[0] = 5", "A[5] = A[0]"), SIX)
    gives(
        f,
        replace(read(f, window(0, 4)), only=((0,), (2,))),
        """
c = T.alloc_buffer((4,), "int32")
for y in range(4):
    c[y] = A[y]
for i in range(4):
    B[i] = c[i]
A[5] = A[0]
for i in range(4):
    B[i] = B[i] + c[i]
""",
    )
    f = program("for i in range(3):\n    A[i] = A[i + 1]", SIX)
    text = 'c = T.alloc_buffer((4,), "int32")\nfor y in range(4):\n    c[y] = A[y]\nfor i in range(3):\n'
    gives(f, read(f, window(0, 4)), text + "    A[i] = c[i + 1]")


def test_reads_that_stay_may_lie_outside_the_region() -> None:
    f = program("for i in range(4):\n    B[i] = A[i]\nB[5] = A[5]", SIX)
    accepted(f, replace(read(f, window(0, 4)), only=((0,),)))
    refused(f, replace(read(f, window(0, 4)), only=((1,),)), f"what reads A {LIES}")
    refused(f, replace(read(f, window(0, 4)), only=((0, 0, 0),)), "no statement at step")
    g = program("for i in range(4):\n    A[i] = B[i]", SIX)
    refused(g, replace(written(g, window(0, 4)), only=((0,),)), "used by all of the statement")


def test_views_of_several_types_are_not_copied_out() -> None:
    text = 'V = T.decl_buffer((6,), "float32", data=A.data)\nV[0] = V[0]\nB[0] = 0'
    f = program(text, SIX)
    refused(f, Stage((0, 0), buffer(f, "V"), window(0, 2), "c", "global", copy_out=True), "views of several types")
    g = program(text.replace("V[0] = V[0]", "B[1] = T.reinterpret('int32', V[0])"), SIX)
    accepted(g, Stage((0, 0), buffer(g, "V"), window(0, 2), "c"))


def test_strides_may_let_two_indices_meet() -> None:
    params = 'A: T.Buffer((3,), "int32", strides=(0,)), B: T.Buffer((3,), "int32")'
    f = program("A[0] = 1\nB[0] = A[1]", params)
    refused(f, written(f, window(0, 3)), "A has strides")
    g = program("for i in range(3):\n    B[i] = A[i]", params)
    accepted(g, read(g, window(0, 3)))


def test_vectors_move_lane_by_lane() -> None:
    f = program("A[2:4] = A[0:2]", SIX)
    gives(f, written(f, window(0, 4)), """
c = T.alloc_buffer((4,), "int32")
for y in range(4):
    c[y] = A[y]
c[2:4] = c[T.Ramp(0, 1, 2)]
for y in range(4):
    A[y] = c[y]
""")  # fmt: skip
    refused(f, written(f, window(0, 3)), f"what writes A {LIES}")


# ------------------------------------------------------------------------------------------------- what fits at all


def test_parameters_fit() -> None:
    f = program("A[0] = A[1]\nB[0] = 2", SIX)
    a, b = buffer(f, "A"), buffer(f, "B")
    layout = window(0, 2)
    accepted(f, Stage((0,), b, layout, "c", "global", copy_out=True))  # nothing is done with the copy
    refused(f, Stage((4,), a, layout, "c"), "no statement at step 4")
    refused(f, Stage((0,), a, replace(layout, inputs=()), "c"), "A has 1 dimensions and is accessed with 0 indices")
    y = layout.inverse_inputs[0]
    refused(f, Stage((0,), a, replace(layout, inverse=(y + Var.fresh("o"),)), "c"), "mentions o, which is not in scope")
    refused(f, Stage((0,), a, replace(layout, inverse=(load(b, y),)), "c"), "the map mentions B, which is not in scope")
    layout = replace(window(1, 1), inverse_inputs=(y,), inverse=(y + 1,))
    again = accepted(f, Stage((0,), a, layout, "c"))
    refused(again, Stage((1,), b, layout, "d"), "y is bound twice")
    stale = Buffer.declare("D", (6,), "int32")
    refused(f, Stage((0,), stale, layout, "c"), "buffer D is not declared here")


def test_extents_of_the_copy() -> None:
    f = program("for i in range(n):\n    B[i] = A[i]", SIX + ", n: T.int32")
    n = variable(f, "n")
    refused(f, read(f, window(0, n)), "safety: n: an extent that is not negative (Refuted)")
    refused(f, read(f, window(0, binary("max", n, 0))), "in bounds")
    accepted(f, read(f, window(0, binary("max", n, 0), inside=6)))
    refused(f, read(f, window(0, 8 // n)), "no division by zero")
    refused(f, read(f, window(n + n - n - n, 6)), "no overflow")


def test_the_map_is_safe_where_it_is_used() -> None:
    f = program("B[0] = A[3]", SIX)
    x, y = Var.fresh("x"), Var.fresh("y")
    bad = LayoutMap((x,), (x // (x - 3),), (y,), (y,), (const(4),), FALSE)
    refused(f, read(f, bad), "no division by zero (Refuted)")
    masked = program("B.vstore([T.Ramp(0, 1, 2)], A.vload([T.Ramp(0, 1, 2)], predicate=T.Ramp(0, 1, 2) < 1))", SIX)
    large = LayoutMap((x,), (x * 1,), (y,), (y,), (const(1),), FALSE)
    accepted(masked, read(masked, large))


def test_barriers() -> None:
    f = program("A[0] = 1\nB[0] = 2", SIX)
    call = Evaluate(Call(INT32, "call_extern", (StringImm("g"),)))
    refused(f.with_body(seq(f.body, call)), written(f, window(0, 2)), "an opaque call stands there")
    asserted = program('assert A[0] > 0, "positive"\nA[0] = 1', SIX)
    accepted(asserted, written(asserted, window(0, 2)))
    endless = program("while A[0] > 0:\n    A[0] = A[0] - 1", SIX)
    accepted(endless, written(endless, window(0, 2)))
    refused(accepted(endless, written(endless, window(0, 1))), only_out(), UNWRITTEN.format("c"))


def test_copies_race_in_a_parallel_loop() -> None:
    text = "for i in T.parallel(3):\n    A[i * 2] = B[i] + A[i * 2]"
    f = program(text, SIX)
    i = variable(f, "i")
    stage = Stage((0,), buffer(f, "A"), window(i * 2, 2), "c", "global", copy_out=True)
    accepted(f, stage)
    refused(f, replace(stage, layout=window(0, 6)), "race: the loop over i is parallel")


def test_padding_that_may_not_be_touched_is_not_copied() -> None:
    f = program("for i in range(6):\n    B[i] = A[i]", SIX)
    a, x, y = buffer(f, "A"), Var.fresh("x"), Var.fresh("y")
    wider = LayoutMap((x,), (x,), (y,), (y,), (const(8),), binary("ge", y, 6))
    for value, fine in ((None, False), (Undef(INT32), True), (const(0), True)):
        theorem = apply(Relayout(a, wider, value), reflexive(f), Prover(Solver()))
        assert isinstance(theorem, Refines)
        new = theorem.after.buffers[0]
        whole = apply(Stage((), new, window(0, 8), "c"), theorem, Prover(Solver()))
        assert isinstance(whole, Refines) is fine
        if isinstance(whole, Unproved):
            assert "accessible" in whole.obligation.claim
        assert isinstance(apply(Stage((), new, window(0, 8, inside=6), "c"), theorem, Prover(Solver())), Refines)


def test_a_view_inside_the_statement() -> None:
    f = program("for i in range(2):\n    A[i] = A[i] + 1", SIX)
    a = buffer(f, "A")
    view = Buffer.declare("V", (2,), "int32", data=a.data, elem_offset=const(2))
    g = f.with_body(seq(f.body, DeclBuffer(view, store(view, 5, 1))))
    accepted(g, written(g, window(0, 3)))
    refused(g, written(g, window(0, 4)), f"c {MISSES}: no dependence between the write and the write of V")


# ------------------------------------------------------------------------------------------------ the classic faults

GUARDED = """
for i in range(2):
    if B[0] > 0:
        A[0] = 1
    else:
        B[0] = 1
if B[0] > {}:
    B[1] = A[0]
A[0] = 2
"""


def test_a_write_under_a_condition_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the loop wrote A[0] is not what B[0] says afterwards."""
    f = program(GUARDED.format(0), SIX)
    both = accepted(f, written(f, window(0, 1)))
    refused(both, only_out(), UNWRITTEN.format("c"))
    instances_share_loads(monkeypatch)
    accepted(both, only_out())


STALE = """
if B[0] > 0:
    A[0] = 1
B[{}] = 1
if B[0] > 0:
    B[1] = A[0]
A[0] = 2
"""


def test_a_condition_on_memory_ends_with_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    f, g = program(STALE.format(1), SIX), program(STALE.format(0), SIX)
    accepted(f, written(f, window(0, 1)), only_out())
    both = accepted(g, written(g, window(0, 1)))
    refused(both, only_out(), UNWRITTEN.format("c"))
    stores_change_nothing(monkeypatch)
    accepted(both, only_out())


def test_padding_is_a_condition_of_any_form() -> None:
    f = program("for i in range(5):\n    B[i] = A[i]", 'A: T.Buffer((5,), "int32"), B: T.Buffer((5,), "int32")')
    y, z, v = Var.fresh("y"), Var.fresh("z"), Var.fresh("v")
    padding = binary("ge", y * 2 + z, const(5))
    layout = LayoutMap((v,), (v // 2, v % 2), (y, z), (y * 2 + z,), (const(3), const(2)), padding)
    assert "if not y * 2 + z >= 5:\n" in body_of(accepted(f, Stage((), buffer(f, "A"), layout, "c")))
    whole = replace(layout, padding=FALSE)
    refused(f, Stage((), buffer(f, "A"), whole, "c"), "in bounds (Refuted)")
