"""decompose_padding: a fill with the padding value, and a copy of what lies inside."""

from __future__ import annotations

import pytest

from tests.schedule.schedule_support import Steps, accepted, not_applicable, refused
from verified_tir import Schedule

PADDED = """
@T.prim_func
def padded(x: T.Buffer((8,), "{dtype}"), y: T.Buffer((12,), "{dtype}")):
    for i in range(12):
        with T.block("y"):
            y[i] = {value}
"""
CHOICE = "T.if_then_else(i >= 2 and i < 10, x[i - 2], T.{dtype}({padding}))"

IMAGE = """
@T.prim_func
def image(x: T.Buffer((6, 6), "float32"), y: T.Buffer((6, 6), "float32")):
    p = T.alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        with T.block("p"):
            p[i, j] = T.if_then_else(1 <= i and i < 7 and 1 <= j and j < 7, x[i - 1, j - 1], T.float32(0))
    for i, j in T.grid(6, 6):
        with T.block("y"):
            y[i, j] = p[i, j] + p[i + 2, j + 2]
"""

TILED = """
@T.prim_func
def tiled(x: T.Buffer((26,), "float32"), y: T.Buffer((24,), "float32")):
    p = T.alloc_buffer((32,), "float32")
    for t in range(3):
        for a in range(16):
            with T.block("p"):
                p[t * 8 + a] = T.if_then_else(3 <= t * 8 + a and t * 8 + a < 29, x[t * 8 + a - 3], T.float32(0))
        for b in range(8):
            with T.block("y"):
                y[t * 8 + b] = p[t * 8 + b] + p[t * 8 + b + 8]
"""


def padded(dtype: str = "float32", padding: str = "0", value: str = CHOICE) -> str:
    return PADDED.format(dtype=dtype, value=value.format(dtype=dtype, padding=padding))


def body(s: Schedule) -> str:
    return s.script().split("):\n", 1)[1].rstrip("\n")


@pytest.mark.parametrize(("dtype", "padding"), [("float32", "0.0"), ("float32", "-1.5"), ("int8", "0"), ("int32", "7")])
def test_the_fill_comes_first_and_the_copy_runs_over_what_lies_inside(dtype: str, padding: str) -> None:
    s = accepted(padded(dtype, padding), lambda s: s.decompose_padding("y", "i"))
    assert (
        body(s)
        == f"""\
    for i_pad in range(12):
        with T.sblock("y_pad_const"):
            y[i_pad] = {padding if dtype == "int32" else f"T.{dtype}({padding})"}
    for i in range(8):
        with T.sblock("y"):
            y[i + 2] = x[i]"""
    )


def test_it_gives_the_block_that_fills_and_handles_stay_with_the_copy() -> None:
    s = Schedule(padded())
    (i,) = s.get_loops("y")
    assert s.can_decompose_padding("y", i)
    assert s.decompose_padding("y", i) == "y_pad_const"
    s.split(i, [None, 4])
    assert s.blocks == ["y_pad_const", "y"]
    assert [v.name for v in s.get_loops("y")] == ["i_0", "i_1"]


def test_in_two_dimensions_before_either_loop() -> None:
    s = accepted(IMAGE, lambda s: s.decompose_padding("p", s.get_loops("p")[1]))
    assert (
        body(s).split("    for i, j")[0]
        == """\
    p = T.alloc_buffer((8, 8), "float32")
    for i in range(8):
        for j_pad in range(8):
            with T.sblock("p_pad_const"):
                p[i, j_pad] = T.float32(0.0)
        for j in range(6):
            if 1 <= i and i < 7:
                with T.sblock("p"):
                    p[i, j + 1] = x[i - 1, j]
"""
    )
    s = accepted(IMAGE, lambda s: s.decompose_padding("p", s.get_loops("p")[0]))
    assert (
        body(s).split('    for i, j in T.grid(6, 6):\n        with T.sblock("y")')[0]
        == """\
    p = T.alloc_buffer((8, 8), "float32")
    for i_pad, j_pad in T.grid(8, 8):
        with T.sblock("p_pad_const"):
            p[i_pad, j_pad] = T.float32(0.0)
    for i, j in T.grid(6, 6):
        with T.sblock("p"):
            p[i + 1, j + 1] = x[i, j]
"""
    )


def test_tiles_that_overlap_are_filled_by_their_region() -> None:
    """Each tile pads its own border; the copy of one tile must not be overwritten by the fill of the next."""
    s = accepted(TILED, lambda s: s.decompose_padding("p", "t"))
    assert (
        body(s).split("        for b")[0]
        == """\
    p = T.alloc_buffer((32,), "float32")
    for ax0 in range(32):
        with T.sblock("p_pad_const"):
            p[ax0] = T.float32(0.0)
    for t in range(3):
        for a in range(16):
            if 3 <= t * 8 + a and t * 8 + a < 29:
                with T.sblock("p"):
                    p[t * 8 + a] = x[t * 8 + a - 3]
"""
    )
    s = accepted(TILED, lambda s: s.decompose_padding("p", "a"))
    assert (
        body(s).split("        for b")[0]
        == """\
    p = T.alloc_buffer((32,), "float32")
    for t in range(3):
        for a_pad in range(16):
            with T.sblock("p_pad_const"):
                p[t * 8 + a_pad] = T.float32(0.0)
        for a in range(16):
            if 3 <= t * 8 + a and t * 8 + a < 29:
                with T.sblock("p"):
                    p[t * 8 + a] = x[t * 8 + a - 3]
"""
    )


SYMBOLIC = """
@T.prim_func
def symbolic(a: T.handle, b: T.handle, n: T.int32):
    x = T.match_buffer(a, (n,), "float32")
    y = T.match_buffer(b, (n + 4,), "float32")
    for i in range(n + 4):
        with T.block("y"):
            y[i] = T.if_then_else(i >= 2 and i < n + 2, x[i - 2], T.float32(0))
"""


def test_symbolic_extents() -> None:
    s = accepted(SYMBOLIC, lambda s: s.decompose_padding("y", "i"))
    assert (
        body(s).split("    for i in")[1]
        == """\
 range(n):
        with T.sblock("y"):
            y[i + 2] = x[i]"""
    )


SHIFTED = """
@T.prim_func
def shifted(y: T.Buffer((12,), "float32")):
    for i in range(11):
        with T.block("y"):
            y[i] = T.if_then_else(i >= 2, y[i + 1], T.float32(0))
"""


def test_what_is_read_before_it_is_overwritten_is_not_filled_before() -> None:
    refused(SHIFTED, lambda s: s.decompose_padding("y", "i"), "the store to y is dead: no later read sees it")
    assert not Schedule(SHIFTED).can_decompose_padding("y", "i")


SUM = """
@T.prim_func
def total(x: T.Buffer((8,), "float32"), y: T.Buffer((1,), "float32")):
    for i in range(12):
        with T.block("y"):
            y[0] = T.if_then_else(i >= 2 and i < 10, x[i - 2], T.float32(0))
"""


def test_padding_that_comes_after_a_value_is_not_left_out() -> None:
    """The last iterations store 0 over what was copied: a fill before the loop does not."""
    refused(
        SUM, lambda s: s.decompose_padding("y", "i"), "the erased store to y wrote the bits that were there already"
    )


TILES_OF_ITS_OWN = """
@T.prim_func
def tiles(x: T.Buffer((8,), "float32"), y: T.Buffer((12,), "float32")):
    for t in range(3):
        p = T.alloc_buffer((4,), "float32")
        for i in range(4):
            with T.block("p"):
                p[i] = T.if_then_else(t * 4 + i >= 2 and t * 4 + i < 10, x[t * 4 + i - 2], T.float32(0))
        for i in range(4):
            y[t * 4 + i] = p[i]
"""


@pytest.mark.parametrize(
    ("program", "steps", "words"),
    [
        (padded(value="x[0]"), lambda s: s.decompose_padding("y", "i"), "does not store T.if_then_else"),
        (padded(value="T.if_then_else(i < 8, T.float32(0), x[0])"), lambda s: s.decompose_padding("y", "i"),
         "the padding value of block y is read from memory"),
        (padded(), lambda s: s.decompose_padding("z", "i"), "there is no block called 'z'"),
        (padded(), lambda s: s.decompose_padding("y", "k"), "there is no loop called 'k'"),
        (padded(), lambda s: s.decompose_padding(3, "i"), "a block is given by its name, not by 3"),  # type: ignore[arg-type]
        (IMAGE, lambda s: s.decompose_padding("p", s.get_loops("y")[0]), "does not stand inside the loop over i"),
        (TILES_OF_ITS_OWN, lambda s: s.decompose_padding("p", "t"),
         "p is allocated inside the loop over t, so it cannot be filled before"),
    ],
)  # fmt: skip
def test_arguments_that_make_no_sense(program: str, steps: Steps, words: str) -> None:
    not_applicable(program, steps, words)
