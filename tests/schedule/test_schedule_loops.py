"""split, fuse, reorder, tile: accepted in all the shapes of loops that people write, refused where they are wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.schedule.schedule_programs import PROGRAMS, program
from tests.schedule.schedule_support import Steps, accepted, agree, not_applicable, refused
from verified_tir import NotApplicable, Schedule

Golden = Callable[[str, str], None]


# -- split -------------------------------------------------------------------------------------------------------------

SPLITS: list[tuple[str, str, list[int | None]]] = [
    ("relu_1d", "i", [None, 4]),
    ("relu_1d", "i", [7, 2]),
    ("relu_1d", "i", [2, None]),
    ("relu_1d", "i", [None, 2, 3]),
    ("relu_1d", "i", [None, 3, 2, 2]),
    ("relu_1d", "i", [2, None, 3]),
    ("relu_1d", "i", [None, 20]),
    ("relu_1d", "i", [None, 1]),
    ("relu_1d", "i", [14]),
    ("relu_1d", "i", [5, 4]),
    ("one", "i", [None, 4]),
    ("one", "j", [1, 1]),
    ("offset", "i", [None, 4]),
    ("offset_2d", "j", [None, 4]),
    ("wide", "i", [None, 3]),
    ("wide_sum", "j", [None, 4]),
    ("symbolic_1d", "i", [None, 4]),
    ("symbolic_1d", "i", [4, None]),
    ("symbolic_1d", "i", [None, 2, 4]),
    ("symbolic_3d", "k", [None, 8]),
    ("triangle", "j", [None, 2]),
    ("guarded", "j", [None, 3]),
    ("matmul_symbolic", "k", [None, 4]),
    ("gather", "i", [None, 4]),
    ("prefix_sum", "i", [None, 4]),
    ("total", "k", [None, 4]),
    ("count", "i", [None, 3]),
    ("negate_5d", "d", [2, None]),
]


@pytest.mark.sample(6)
@pytest.mark.parametrize(("name", "loop", "factors"), SPLITS, ids=lambda x: str(x).replace(" ", ""))
def test_splits_keep_the_result(name: str, loop: str, factors: list[int | None]) -> None:
    s = Schedule(program(name))
    extent = next(v for v in s.loops() if v.name == loop)
    news = s.split(extent, factors)
    assert [v.name for v in news] == [f"{loop}_{k}" for k in range(len(factors))]
    assert set(news) <= set(s.loops())
    agree(s)


def test_a_split_reads_as_tvm_writes_it(golden: Golden) -> None:
    s = accepted("relu_1d", lambda s: s.split("i", [None, 3, 2]))
    assert "if i_0 * 6 + i_1 * 2 + i_2 < 14:" in s.script()
    golden("split_three_levels.txt", s.script())


def test_a_split_that_divides_has_no_guard() -> None:
    s = accepted("relu_1d", lambda s: s.split("i", [7, 2]))
    assert "if" not in s.script()
    s = accepted(
        """
@T.prim_func
def f(a: T.handle, b: T.handle, n: T.int32):
    A = T.match_buffer(a, (n * 4,), "float32")
    B = T.match_buffer(b, (n * 4,), "float32")
    T.assume(n < 1000)
    for i in range(n * 4):
        B[i] = A[i]
""",
        lambda s: s.split("i", [None, 4]),
    )
    assert "T.grid(n, 4)" in s.script()
    assert "if" not in s.script()


def test_a_loop_that_does_not_begin_at_zero() -> None:
    s = accepted("offset", lambda s: s.split("i", [None, 4]))
    assert "B[i_0 * 4 + i_1 + 3] = A[i_0 * 4 + i_1] + A[i_0 * 4 + i_1 + 5]" in s.script()
    assert "if i_0 * 4 + i_1 < 11:" in s.script()


def test_a_split_of_a_split_is_multiplied_out() -> None:
    def steps(s: Schedule) -> None:
        outer, _ = s.split("i", [None, 4])
        s.split(outer, [None, 2])

    s = accepted("relu_1d", steps)
    assert "B[i_0_0 * 8 + i_0_1 * 4 + i_1]" in s.script()
    assert s.script().count("if ") == 1


def test_unit_loops_of_a_split_are_kept() -> None:
    s = accepted("relu_1d", lambda s: s.split("i", [None, 1]))
    assert "T.grid(14, 1)" in s.script()


WRONG_SPLITS: list[tuple[str, Steps, str]] = [
    ("relu_1d", lambda s: s.split("i", [2, 2]), "the factors give 4 iterations, fewer than the 14 of the loop"),
    ("relu_1d", lambda s: s.split("i", [None, 0]), "a factor must be positive, not 0"),
    ("relu_1d", lambda s: s.split("i", [-2, None]), "a factor must be positive, not -2"),
    ("relu_1d", lambda s: s.split("i", [None, None]), "at most one of them None"),
    ("relu_1d", lambda s: s.split("i", []), "at least one factor"),
    ("relu_1d", lambda s: s.split("i", 4), "a list of factors such as [None, 4], not 4"),  # type: ignore[arg-type]
    ("relu_1d", lambda s: s.split("i", [None, 2.0]), "not 2.0"),  # type: ignore[list-item]
    ("relu_1d", lambda s: s.split("i", [None, 2**40]), "too large for the loop's type int32"),
    ("relu_1d", lambda s: s.split("k", [None, 2]), "there is no loop called 'k'; the loops are i"),
    ("relu_1d", lambda s: s.split(3, [None, 2]), "by its variable or its name, not by 3"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("name", "steps", "words"), WRONG_SPLITS, ids=[w for _, _, w in WRONG_SPLITS])
def test_a_split_that_makes_no_sense(name: str, steps: Steps, words: str) -> None:
    not_applicable(name, steps, words)


def test_a_symbolic_split_with_too_few_iterations() -> None:
    refusal = refused("symbolic_1d", lambda s: s.split("i", [2, 2]), "every old iteration of (i) is run")
    assert refusal.counterexample["n"] > 4


# -- fuse --------------------------------------------------------------------------------------------------------------

FUSIONS = [
    ("add_2d", ("i", "j")),
    ("scale_3d", ("i", "j", "k")),
    ("copy_4d", ("h", "w")),
    ("negate_5d", ("a", "b", "c", "d", "e")),
    ("offset_2d", ("i", "j")),
    ("wide", ("i", "j")),
    ("guarded", ("i", "j")),
    ("matmul_symbolic", ("i", "j")),
    ("symbolic_3d", ("j", "k")),
    ("two_matmuls_first", ("i", "j")),
    ("total", ("i", "k")),
    ("stencil", ("t", "x")),
    ("one", ("i", "j")),
]


@pytest.mark.sample(5)
@pytest.mark.parametrize(("name", "loops"), FUSIONS, ids=[n for n, _ in FUSIONS])
def test_fusions_keep_the_result(name: str, loops: tuple[str, ...]) -> None:
    if name == "two_matmuls_first":
        s = Schedule(program("two_matmuls"))
        fused = s.fuse(*s.loops("first")[:2])
    elif name in ("matmul_symbolic", "symbolic_3d"):
        n, m = loops[0], loops[1]
        bound = {"i": "n", "j": "m", "k": "l"}
        text = program(name).replace(
            "    for i", f"    T.assume({bound[n]} < 1000 and {bound[m]} < 1000)\n    for i", 1
        )
        s = Schedule(text)
        fused = s.fuse(*loops)
    else:
        s = Schedule(program(name))
        fused = s.fuse(*loops)
    assert fused.name == "_".join(loops) + "_fused"
    agree(s)


def test_split_of_fused_and_fuse_of_split(golden: Golden) -> None:
    def forth(s: Schedule) -> None:
        fused = s.fuse("i", "j")
        outer, inner = s.split(fused, [None, 8])
        assert [outer.name, inner.name] == ["i_j_fused_0", "i_j_fused_1"]

    golden("split_of_fused.txt", accepted("add_2d", forth).script())

    def back(s: Schedule) -> None:
        fused = s.fuse(*s.split("j", [None, 4]))
        assert fused.name == "j_0_j_1_fused"
        s.simplify()

    s = accepted("add_2d", back)
    assert "C[i, j_0_j_1_fused] =" in s.script()


@pytest.mark.parametrize("kind", ["parallel", "unroll", "vectorize"])
@pytest.mark.parametrize("loops", [("i", "j"), ("j",)])
def test_a_fused_loop_is_serial(kind: str, loops: tuple[str, ...]) -> None:
    """As TVM's: ``split`` of a marked loop makes serial ones, too."""

    def steps(s: Schedule) -> None:
        for loop in loops:
            getattr(s, kind)(loop)
        fused = s.fuse(*loops)
        s.parallel(fused)

    script = accepted("add_2d", steps).script()

    assert script.count("T.parallel") == 1 and "T.unroll" not in script and "T.vectorized" not in script


@pytest.mark.parametrize("loops", [("i", "j"), ("j",)])
def test_threads_and_annotations_are_not_dropped(loops: tuple[str, ...]) -> None:
    not_applicable("add_2d", lambda s: (s.bind("j", "threadIdx.x"), s.fuse(*loops)), "is bound to threadIdx.x")
    not_applicable("add_2d", lambda s: (s.annotate("j", "pragma", 1), s.fuse(*loops)), "is annotated")


MIXED = """
@T.prim_func
def f(A: T.Buffer((4, T.int64(8)), "float32")):
    for i in range(4):
        for j in range({low}, {extent}):
            A[i, j] = A[i, j] + T.float32(1)
"""


def test_fused_loops_of_two_types_have_the_wider_one() -> None:
    s = accepted(MIXED.format(low="T.int64(0)", extent="T.int64(8)"), lambda s: s.fuse("i", "j"))
    assert s.loops()[0].dtype.bits == 64
    assert 'A[T.Cast("int32", i_j_fused // T.int64(8)), i_j_fused % T.int64(8)]' in s.script()
    inner = accepted(MIXED.format(low="T.int64(3)", extent="T.int64(8)"), lambda s: s.fuse("i", "j"))
    assert "range(T.int64(20))" in inner.script()


def test_loops_of_two_types_keep_them_if_the_fusion_is_refused() -> None:
    """The wider loop is part of the step: a nest that is no box stays as it is."""
    s = Schedule(MIXED.format(low="T.int64(0)", extent='T.Cast("int64", i)'))
    before = s.func
    with pytest.raises(NotApplicable, match="not a box"):
        s.fuse("i", "j")
    assert s.func is before


def test_a_fused_extent_that_overflows_is_refused() -> None:
    """The array may have no element and yet n * m too large for an int32."""
    refusal = refused("symbolic_3d", lambda s: s.fuse("i", "j"), "n * m: no overflow")
    assert refusal.counterexample["l"] == 0


WRONG_FUSIONS: list[tuple[str, Steps, str]] = [
    ("add_2d", lambda s: s.fuse("j", "i"), "outermost first; the nest is i, j"),
    ("scale_3d", lambda s: s.fuse("i", "k"), "all loops of a nest, outermost first; the nest is i, j, k"),
    ("add_2d", lambda s: s.fuse(), "fuse takes a loop at least"),
    ("add_2d", lambda s: s.fuse("nobody"), "no loop called 'nobody'"),
    ("add_2d", lambda s: s.fuse("i", "i"), "a loop is named twice"),
    ("triangle", lambda s: s.fuse("i", "j"), "the range of the loop over j depends on i"),
    ("matmul_loops", lambda s: s.fuse("j", "k"), "something other than loops and guards"),
    ("softmax", lambda s: s.fuse("j", "k"), "are not nested in one another"),
]


@pytest.mark.parametrize(("name", "steps", "words"), WRONG_FUSIONS, ids=[w for _, _, w in WRONG_FUSIONS])
def test_a_fusion_that_makes_no_sense(name: str, steps: Steps, words: str) -> None:
    not_applicable(name, steps, words)


# -- reorder -----------------------------------------------------------------------------------------------------------

REORDERS = [
    ("add_2d", ("j", "i")),
    ("scale_3d", ("k", "j", "i")),
    ("scale_3d", ("k", "i")),
    ("copy_4d", ("c", "w", "h", "n")),
    ("negate_5d", ("e", "a", "c")),
    ("matmul", ("k", "i", "j")),
    ("matmul", ("j", "i")),
    ("matmul_symbolic", ("k", "j", "i")),
    ("conv2d_nhwc", ("rh", "rw", "rc", "n", "h", "w", "o")),
    ("conv2d_nchw_stride2", ("rc", "w", "o")),
    ("guarded", ("j", "i")),
    ("offset_2d", ("j", "i")),
    ("max_pool", ("r", "i")),
    ("symbolic_3d", ("k", "i")),
    ("transpose", ("j", "i")),
    ("horner", ("k", "i")),
]


@pytest.mark.sample(5)
@pytest.mark.parametrize(("name", "loops"), REORDERS, ids=lambda x: str(x).replace("'", ""))
def test_reorders_keep_the_result(name: str, loops: tuple[str, ...]) -> None:
    s = Schedule(program(name))
    handles = {v.name: v for v in s.loops()}
    s.reorder(*loops)
    names = [v.name for v in s.loops()]
    assert [n for n in names if n in loops] == list(loops)
    s.unroll(handles[loops[0]])  # the old handle means the loop at its new place
    assert "T.unroll" in s.script()
    agree(s)


def test_reorder_moves_loops_across_guards_and_labels(golden: Golden) -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((6, 7), "float32"), B: T.Buffer((6, 7), "float32")):
    for i in range(6):
        if i % 2 == 0:
            with T.block("row"):
                for j in range(7):
                    if i + j < 9:
                        B[i, j] = A[i, j] + T.float32(1)
"""
    s = accepted(text, lambda s: s.reorder("j", "i"))
    golden("reorder_across_guards.txt", s.script())
    assert "if i % 2 == 0:" in s.script()


WRONG_REORDERS = [
    ("total", ("k", "i"), "iterations change their order"),
    ("stencil", ("x", "t"), "iterations change their order"),
    ("conv2d_nhwc", ("rw", "rh"), "iterations change their order"),
]


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "loops", "claim"), WRONG_REORDERS, ids=[n for n, _, _ in WRONG_REORDERS])
def test_a_reorder_that_changes_the_result(name: str, loops: tuple[str, ...], claim: str) -> None:
    refused(name, lambda s: s.reorder(*loops), claim)


NO_REORDERS: list[tuple[str, Steps, str]] = [
    ("add_2d", lambda s: s.reorder(), "reorder takes a loop at least"),
    ("add_2d", lambda s: s.reorder("i", "i"), "a loop is named twice"),
    ("matmul_loops", lambda s: s.reorder("k", "i"), "something other than loops and guards"),
    ("add_2d", lambda s: s.reorder("i", "q"), "there is no loop called 'q'; the loops are i, j"),
]


@pytest.mark.parametrize(("name", "steps", "words"), NO_REORDERS, ids=[w for _, _, w in NO_REORDERS])
def test_a_reorder_that_makes_no_sense(name: str, steps: Steps, words: str) -> None:
    not_applicable(name, steps, words)


# -- tile --------------------------------------------------------------------------------------------------------------


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("name", "loops", "factors"),
    [
        ("add_2d", ("i", "j"), (2, 3)),
        ("scale_3d", ("i", "j", "k"), (2, 3, 2)),
        ("scale_3d", ("k",), (2,)),
        ("matmul", ("i", "j", "k"), (2, 4, 3)),
        ("guarded", ("i", "j"), (2, 2)),
        ("triangle", ("i", "j"), (2, 2)),
        ("symbolic_3d", ("i", "j", "k"), (2, 3, 4)),
        ("offset_2d", ("i", "j"), (4, 4)),
        ("depthwise", ("h", "w"), (3, 2)),
    ],
)
def test_tiles_keep_the_result(name: str, loops: tuple[str, ...], factors: tuple[int, ...]) -> None:
    s = Schedule(program(name))
    found = s.tile(*loops, factors=factors)
    assert [v.name for v in found] == [f"{x}_0" for x in loops] + [f"{x}_1" for x in loops]
    assert set(found) <= set(s.loops())
    agree(s)


def test_a_tile_reads_as_tvm_writes_it(golden: Golden) -> None:
    s = accepted("add_2d", lambda s: s.tile("i", "j", factors=[2, 3]))
    assert "if i_0 * 2 + i_1 < 5 and j_0 * 3 + j_1 < 7:" in s.script()
    golden("tile.txt", s.script())


@pytest.mark.parametrize(
    ("name", "steps", "words"),
    [
        ("add_2d", lambda s: s.tile("i", "j", factors=[2]), "2 loops and 1 factors"),
        ("add_2d", lambda s: s.tile(factors=[]), "0 loops"),
        ("add_2d", lambda s: s.tile("i", "j", factors=[2, 0]), "a factor must be positive, not 0"),
        ("softmax", lambda s: s.tile("j", "k", factors=[2, 2]), "are not nested"),
    ],
)
def test_a_tile_that_makes_no_sense(name: str, steps: Steps, words: str) -> None:
    not_applicable(name, steps, words)


def test_a_tile_that_fails_halfway_leaves_nothing_behind() -> None:
    """All splits of ``stencil`` are legal, their reordering is not."""
    refusal = refused("stencil", lambda s: s.tile("t", "x", factors=[2, 4]), "iterations change their order")
    assert refusal.step == "tile(t, x, [2, 4])"


# -- many steps --------------------------------------------------------------------------------------------------------


def test_a_matrix_product_in_three_levels(golden: Golden) -> None:
    def steps(s: Schedule) -> None:
        i, j, k = s.loops("C")
        i0, i1, i2 = s.split(i, [None, 2, 2])
        j0, j1, j2 = s.split(j, [None, 2, 2])
        k0, k1 = s.split(k, [None, 4])
        s.reorder(i0, j0, k0, i1, j1, k1, i2, j2)
        s.vectorize(j2)
        s.unroll(i2)
        s.parallel(i0)

    golden("matmul_three_levels.txt", accepted("matmul", steps).script())


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_every_loop_of_every_program_can_be_split(name: str) -> None:
    s = Schedule(program(name))
    for loop in s.loops():
        s.split(loop, [None, 2])
    agree(s, work=800)
