"""rolling_buffer: each row is computed once, and a window of rows is kept."""

from __future__ import annotations

import pytest

from tests.schedule.schedule_support import Steps, accepted, not_applicable, refused
from verified_tir import Refuted, Schedule

POOL = """
@T.prim_func
def pool(A: T.Buffer((12,), "int32"), C: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((10,), "int32")
    for a in range(10):
        with T.block("B"):
            B[a] = T.max(A[a], A[a + 2])
    for t in range(2):
        for b in range(4):
            with T.block("C"):
                C[t * 4 + b] = T.max(B[t * 4 + b], B[t * 4 + b + 2])
"""
SUMS = """
@T.prim_func
def sums(A: T.Buffer((4, 12), "float32"), C: T.Buffer((4, 8), "float32")):
    B = T.alloc_buffer((4, 10), "float32")
    for c, i in T.grid(4, {tiles}):
        for a, k in T.grid({rows}, 3):
            with T.sblock("B"):
                vc = T.axis.spatial(4, c)
                vi = T.axis.spatial(10, {step} * i + a)
                vk = T.axis.reduce(3, k)
                with T.init():
                    B[vc, vi] = T.float32(0)
                B[vc, vi] = B[vc, vi] + A[vc, vi + vk]
        for b, k in T.grid({step}, 3):
            with T.sblock("C"):
                vc = T.axis.spatial(4, c)
                vi = T.axis.spatial(8, {step} * i + b)
                vk = T.axis.reduce(3, k)
                with T.init():
                    C[vc, vi] = T.float32(0)
                C[vc, vi] = C[vc, vi] + B[vc, vi + vk]
"""


def text(s: Schedule) -> str:
    return s.script().split("):\n", 1)[1] + "\n"


def roll(s: Schedule) -> None:
    s.rolling_buffer("B", 0)


def test_a_window_of_what_a_tile_computes() -> None:
    def steps(s: Schedule) -> None:
        s.compute_at("B", "t")
        s.rolling_buffer("B", 0)

    s = accepted(POOL, steps)
    assert (
        text(s)
        == """\
    B = T.alloc_buffer((6,), "int32")
    for t in range(2):
        for a in range(6):
            if t < 1 or a >= 2:
                with T.sblock("B"):
                    B[(4 * t + a) % 6] = T.max(A[4 * t + a], A[4 * t + a + 2])
        for b in range(4):
            with T.sblock("C"):
                C[t * 4 + b] = T.max(B[(b + 4 * t) % 6], B[(b + 2 + 4 * t) % 6])
"""
    )


def sums(tiles: int = 4, rows: int = 4, step: int = 2) -> str:
    return SUMS.format(tiles=tiles, rows=rows, step=step)


@pytest.mark.parametrize(("tiles", "step"), [(4, 2), (8, 1), (2, 4)])
def test_sums_of_rows(tiles: int, step: int) -> None:
    s = accepted(sums(tiles, step + 2, step), roll)
    assert f'B = T.alloc_buffer((4, {step + 2}), "float32")' in text(s)
    assert f"if i < 1 or a >= {2}:" in text(s)


def test_one_row_less_is_too_little() -> None:
    """Rows of a window must be as many as a tile has; a buffer of fewer rows is refused with what it would give."""
    s = accepted(sums(), roll)
    with pytest.raises(Refuted, match="are mapped to the same place"):
        s.transform_layout("B", lambda c, x: [c, x % 3])


def test_tiles_at_uneven_distances() -> None:
    """A tile begins at (5 i) // 2: two rows after the last one, or three."""
    program = """
@T.prim_func
def f(A: T.Buffer((20,), "int32"), C: T.Buffer((24,), "int32")):
    B = T.alloc_buffer((14,), "int32")
    for i in range(5):
        for a in range(5):
            with T.sblock("B"):
                T.where(i * 5 // 2 + a < 14)
                B[i * 5 // 2 + a] = A[i * 5 // 2 + a] + 1
        for b, k in T.grid(5, 3):
            if i * 5 + b < 24:
                with T.sblock("C"):
                    if k == 0:
                        C[i * 5 + b] = 0
                    C[i * 5 + b] = C[i * 5 + b] + B[(i * 5 + b) // 2 + k]
"""
    s = accepted(program, roll)
    assert 'B = T.alloc_buffer((5,), "int32")' in text(s)
    assert text(s).count("% 5") >= 2


def test_what_stands_in_two_dimensions() -> None:
    """Rows of the outermost loop over tiles share places; columns that a tile has in common with others are computed
    once."""
    program = """
@T.prim_func
def f(A: T.Buffer((10, 10), "int32"), C: T.Buffer((8, 8), "int32")):
    B = T.alloc_buffer((10, 10), "int32")
    for i, j in T.grid(4, 2):
        for a, b in T.grid(4, 6):
            with T.sblock("B"):
                B[i * 2 + a, j * 4 + b] = A[i * 2 + a, j * 4 + b] * 2
        for a, b in T.grid(2, 4):
            with T.sblock("C"):
                C[i * 2 + a, j * 4 + b] = B[i * 2 + a, j * 4 + b] + B[i * 2 + a + 2, j * 4 + b + 2]
"""
    s = accepted(program, roll)
    assert 'B = T.alloc_buffer((4, 10), "int32")' in text(s)
    assert "if (i < 1 or a >= 2) and (j < 1 or b >= 2):" in text(s)


def test_loops_are_called_as_before() -> None:
    def steps(s: Schedule) -> None:
        c, i = s.loops("B")[:2]
        s.rolling_buffer("B", 0)
        s.unroll(i)
        s.parallel(c)

    s = accepted(sums(), steps)
    assert "for c in T.parallel(4):" in text(s) and "for i in T.unroll(4):" in text(s)


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (
            lambda s: s.rolling_buffer("B", 0),
            "no loop over tiles stands around block B and what reads B: use compute_at",
        ),
        (lambda s: s.rolling_buffer("C", 0), "C is a parameter; only a local buffer can be rolled"),
        (lambda s: s.rolling_buffer("B", 1), "block B has no write buffer number 1; it writes B"),
        (lambda s: s.rolling_buffer("B", "B"), "a buffer is given by its number"),
        (lambda s: s.rolling_buffer("X", 0), "there is no block called 'X'"),
    ],
)
def test_arguments_that_make_no_sense(steps: Steps, words: str) -> None:
    not_applicable(POOL, steps, words)


def test_tiles_without_a_row_in_common() -> None:
    apart = sums(rows=2).replace("B[vc, vi + vk]", "B[vc, vi]")
    not_applicable(apart, roll, "no two iterations of the loops around block B compute a row of B")


def test_a_loop_that_repeats_a_tile() -> None:
    again = sums().replace("for c, i in T.grid(4, 4)", "for c, i, r in T.grid(4, 4, 2)")
    not_applicable(again, roll, "the loop over r moves 0 dimensions of B; it must be one")


def test_a_tile_that_depends_on_more_than_its_rows() -> None:
    in_tiles = """
@T.prim_func
def pool(A: T.Buffer((12,), "int32"), C: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((10,), "int32")
    for t in range(2):
        for a in range(6):
            with T.sblock("B"):
                B[t * 4 + a] = A[t * 4 + a] * A[t]
        for b in range(4):
            with T.sblock("C"):
                C[t * 4 + b] = B[t * 4 + b] + B[t * 4 + b + 2]
"""
    not_applicable(in_tiles, roll, "what a tile computes depends on t otherwise than by its rows")
    accepted(in_tiles.replace(" * A[t]", ""), roll)


def test_rows_that_an_earlier_tile_stored_otherwise() -> None:
    """It would not be what a row is at its first tile: the second one doubles what stands in A."""
    changing = sums().replace("        for b, k", "        A[c, 2 * i + 3] = T.float32(1)\n        for b, k")
    refused(changing, roll, "what is recomputed was not overwritten since: no dependence")


def test_a_row_that_is_read_after_its_window() -> None:
    late = sums().replace("B[vc, vi + vk]", "B[vc, (vi + vk) // 2]")
    refused(late, roll, "no other element of B takes the place of one that is read later")
