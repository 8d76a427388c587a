"""tensorize and blockize: nests that are what an intrinsic describes, and nests that are not quite."""

from __future__ import annotations

import numpy as np
import pytest

from tests.schedule.schedule_support import accepted, agree
from verified_tir import NotApplicable, Refuted, Schedule, ScheduleError, build
from verified_tir.certificate.replay import made_again
from verified_tir.ir.expr import Var
from verified_tir.ir.script import script
from verified_tir.logic.solver import Solver
from verified_tir.schedule.intrinsic import Intrinsic
from verified_tir.schedule.intrinsics import TensorIntrin

DESCRIPTION = """
@T.prim_func
def mma(A: T.Buffer((2, 2), "float32"), B: T.Buffer((2, 2), "float32"), C: T.Buffer((2, 2), "float32")):
    for i, j, k in T.grid(2, 2, 2):
        with T.block("mma"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""

MATMUL = """
@T.prim_func
def matmul(A: T.Buffer((4, 6), "float32"), B: T.Buffer((6, 4), "float32"), C: T.Buffer((4, 4), "float32")):
    for i, j, k in T.grid(4, 4, 6):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def tiled(s: Schedule) -> Var:
    """Tiles of 2 x 2 x 2; gives the outermost loop of a tile."""
    pairs = [s.split(loop, [None, 2]) for loop in s.get_loops("C")]
    s.reorder(*[p[0] for p in pairs], *[p[1] for p in pairs])
    s.decompose_reduction("C", pairs[2][0])
    return pairs[0][1]


def unrolled(s: Schedule) -> None:
    s.unroll("k")


def program(text: str, name: str) -> str:
    """The statements below a block, as text."""
    lines = text.split("\n")
    start = next(k for k, line in enumerate(lines) if f'T.sblock("{name}")' in line)
    depth = len(lines[start]) - len(lines[start].lstrip())
    rest = [line for line in lines[start + 1 :] if line.strip()]
    body = [line for k, line in enumerate(rest) if all(len(x) - len(x.lstrip()) > depth for x in rest[: k + 1])]
    return "\n".join(line[depth + 4 :] for line in body)


def test_a_tile_becomes_the_scheduled_description() -> None:
    intrin = TensorIntrin.of("mma", DESCRIPTION, unrolled)
    s = accepted(MATMUL, lambda s: s.tensorize(tiled(s), intrin))
    assert s.blocks == ["C_init", "mma", "mma"]
    assert program(s.script(), "mma") == (
        'T.sblock_attr({"tensorized": "mma"})\n'
        "for i, j in T.grid(2, 2):\n"
        "    for k in T.unroll(2):\n"
        '        with T.sblock("mma"):\n'
        "            C[2 * i_0 + i, 2 * j_0 + j] = C[2 * i_0 + i, 2 * j_0 + j]"
        " + A[2 * i_0 + i, 2 * k_0 + k] * B[2 * k_0 + k, 2 * j_0 + j]"
    )
    claims = [d.obligation.claim for d in s.steps[-1].obligations]
    assert "no two indices of C_C, passed for C of mma, address the same element" in claims
    a, b = np.random.default_rng(0).random((4, 6), np.float32), np.ones((6, 4), np.float32)
    c = np.empty((4, 4), np.float32)
    build(s)(a, b, c)
    assert np.allclose(c, a @ b)


def test_without_an_implementation_the_block_gets_its_name() -> None:
    s = accepted(MATMUL, lambda s: s.tensorize(tiled(s), TensorIntrin.of("tile", DESCRIPTION)))
    assert s.blocks == ["C_init", "tile", "mma"]


def test_it_stands_in_parallel_loops() -> None:
    def steps(s: Schedule) -> None:
        loop = tiled(s)
        s.parallel("i_0")
        s.tensorize(loop, TensorIntrin.of("mma", DESCRIPTION, unrolled))

    accepted(MATMUL, steps)


def test_a_block_can_be_named_instead_of_a_loop() -> None:
    def steps(s: Schedule) -> None:
        name = s.blockize(tiled(s))
        s.tensorize(name, TensorIntrin.of("mma", DESCRIPTION, unrolled))

    assert accepted(MATMUL, steps).blocks == ["C_init", "mma", "mma"]


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("float32", "float64", "C of mma holds float64, and C holds float32"),
        ('C: T.Buffer((2, 2), "float32"', 'C: T.Buffer((2, 2), "float32", scope="shared"', "lives in scope 'shared'"),
        (
            "T.grid(2, 2, 2)",
            "T.grid(2, 2, 1)",
            "mma has 'for k in range(1):' where the site has 'for k_1 in range(2):'",
        ),
        ("A[vi, vk] * B[vk, vj]", "B[vk, vj] * A[vi, vk]", "index 'j_0 * 2 + j_1' of B does not go along"),
        ("C[vi, vj] + A", "C[vi, vj] - A", "mma has 'C[i, j] - A[i, k] * B[k, j]' where the site has"),
        ("for i, j, k in", "for k, i, j in", "does not go along with those of"),
        (" * B[vk, vj]", " * B[vk, vj] * T.float32(1)", "where the site has"),
        ("vj] = C", "vj] = T.float32(0) + C", "mma has 'T.float32(0.0) + C[i, j]"),
    ],
)
def test_the_first_difference_is_shown(old: str, new: str, words: str) -> None:
    assert old in DESCRIPTION
    s = Schedule(MATMUL)
    loop = tiled(s)
    with pytest.raises(NotApplicable) as refusal:
        s.tensorize(loop, TensorIntrin.of("mma", DESCRIPTION.replace(old, new)))
    assert words in refusal.value.reason, refusal.value.reason
    agree(s)


ARRAYS = "A: T.Buffer((4,), 'int32'), B: T.Buffer((4,), 'int32')"


def test_guards_and_further_statements_are_differences() -> None:
    for inside, words in (
        ("if i < n:\n            B[i] = A[i]", "copy has 'B[k] = A[k]' where the site has 'if i < n:'"),
        ("B[i] = A[i]\n        A[i] = B[i]", "copy has 'B[k] = A[k]' where the site has 'B[i] = A[i]'"),
    ):
        text = f"@T.prim_func\ndef f({ARRAYS}, n: T.int32):\n    for i in range(4):\n        {inside}"
        copy = f"@T.prim_func\ndef copy({ARRAYS}):\n    for k in range(4):\n        B[k] = A[k]"
        with pytest.raises(NotApplicable) as refusal:
            Schedule(text).tensorize("i", TensorIntrin.of("copy", copy))
        assert words in refusal.value.reason, refusal.value.reason


def test_a_description_of_a_larger_array_is_refused() -> None:
    s = Schedule(MATMUL)
    with pytest.raises(Refuted) as refusal:
        s.tensorize(tiled(s), TensorIntrin.of("mma", DESCRIPTION.replace("(2, 2), ", "(4, 4), ")))
    assert "of mma, may be accessed" in refusal.value.reason


# -- symbols, offsets, alignment ---------------------------------------------------------------------------------------

ALIGNED = """
@T.prim_func
def load4(x: T.handle, Y: T.Buffer((4,), "float32")):
    o = T.int32()
    X = T.match_buffer(x, (4,), "float32", strides=[1], elem_offset=o)
    T.assume(o % {0} == 0)
    for k in range(4):
        Y[k] = X[k]
"""
COPY = """
@T.prim_func
def f(A: T.Buffer((20,), "float32"), B: T.Buffer((16,), "float32")):
    for o in range(4):
        for i in range(4):
            B[o * 4 + i] = A[o * 4 + i + {0}]
"""


def test_alignment_is_an_assumption_about_the_offset() -> None:
    intrin = TensorIntrin.of("load4", ALIGNED.format(4))
    accepted(COPY.format(0), lambda s: s.tensorize("i", intrin))
    accepted(COPY.format(4), lambda s: s.tensorize("i", intrin))
    s = Schedule(COPY.format(2))
    with pytest.raises(Refuted) as refusal:
        s.tensorize("i", intrin)
    assert "the assumption holds" in refusal.value.reason and refusal.value.confirmed


ROWS = """
@T.prim_func
def rows(X: T.Buffer((m, n), "float32"), Y: T.Buffer((m,), "float32"), m: T.int32, n: T.int32):
    for i in range(m):
        for j in range(n):
            Y[i] = Y[i] + X[i, j]
"""


def test_symbolic_tiles() -> None:
    intrin = TensorIntrin.of("rows", ROWS)
    text = """
@T.prim_func
def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8,), "float32")):
    for p in range(3):
        for i in range(T.min(3, 8 - p * 3)):
            for j in range(p + 2):
                B[p * 3 + i] = B[p * 3 + i] + A[p * 3 + i, j + p]
"""
    s = accepted(text, lambda s: s.tensorize("i", intrin))
    assert "rows" in s.blocks


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("shapes", "indices"),
    [
        (("m * 2, l * 2", "l * 2, n * 2", "m * 2, n * 2"), ("p * 2 + i", "q * 2 + j", "r * 2 + k")),
        (("m, 2, l, 2", "l, 2, n, 2", "m, 2, n, 2"), ("p, i", "q, j", "r, k")),
    ],
)
def test_symbolic_matrices(shapes: tuple[str, ...], indices: tuple[str, ...]) -> None:
    """Row-major, and tile by tile."""
    i, j, k = indices
    buffers = ", ".join(f'{b}: T.Buffer(({shape}), "float32")' for b, shape in zip("ABC", shapes, strict=True))
    text = f"""
@T.prim_func
def f({buffers}, m: T.int32, n: T.int32, l: T.int32):
    for p, q, r in T.grid(m, n, l):
        for i, j, k in T.grid(2, 2, 2):
            C[{i}, {j}] = C[{i}, {j}] + A[{i}, {k}] * B[{k}, {j}]
"""
    s = accepted(text, lambda s: s.tensorize("i", TensorIntrin.of("mma", DESCRIPTION, unrolled)))
    assert "T.decl_buffer" not in s.script() and "T.unroll(2)" in s.script()


def test_every_second_column() -> None:
    """The stride of the view is 2."""
    wide = ARRAYS.replace("(4,)", "(8,)", 1)
    text = f"@T.prim_func\ndef f({wide}):\n    for i in range(4):\n        B[i] = A[i * 2 + 1]"
    copy = f"@T.prim_func\ndef copy({ARRAYS}):\n    for k in range(4):\n        B[k] = A[k]"
    s = accepted(text, lambda s: s.tensorize("i", TensorIntrin.of("copy", copy)))
    assert "B[k] = A[2 * k + 1]" in s.script()


# -- opaque implementations --------------------------------------------------------------------------------------------

EXTERN = """
@T.prim_func
def mma_extern(a: T.handle, b: T.handle, c: T.handle):
    sa = T.int32()
    sb = T.int32()
    sc = T.int32()
    oa = T.int32()
    ob = T.int32()
    A = T.match_buffer(a, (2, 2), "float32", strides=[sa, 1], elem_offset=oa)
    B = T.match_buffer(b, (2, 2), "float32", strides=[sb, 1], elem_offset=ob)
    C = T.match_buffer(c, (2, 2), "float32", strides=[sc, 1])
    T.evaluate(T.call_extern("int32", "mma2", A.data, oa, sa, B.data, ob, sb, T.address_of(C[0, 0]), sc))
"""


def test_an_opaque_implementation_is_an_axiom_of_the_theorem() -> None:
    s = Schedule(MATMUL)
    s.tensorize(tiled(s), TensorIntrin.of("mma", DESCRIPTION, EXTERN))
    assert s.assumptions[-1] == "mma_extern does what mma describes (an axiom, of tensorize)"
    assert program(s.script(), "mma") == (
        'T.sblock_attr({"tensorized": "mma"})\n'
        'A_A = T.decl_buffer((2, 2), "float32", data=A.data, strides=(6, 1), elem_offset=12 * i_0 + 2 * k_0)\n'
        'B_B = T.decl_buffer((2, 2), "float32", data=B.data, strides=(4, 1), elem_offset=8 * k_0 + 2 * j_0)\n'
        'C_C = T.decl_buffer((2, 2), "float32", data=C.data, strides=(4, 1), elem_offset=8 * i_0 + 2 * j_0)\n'
        'T.call_extern("int32", "mma2", A.data, 12 * i_0 + 2 * k_0, 6, B.data, 8 * k_0 + 2 * j_0, 4, '
        "T.address_of(C_C[0, 0]), 4)"
    )
    assert s.validate().word == "agrees"  # with all steps before the axiom
    with pytest.raises(ScheduleError):  # nothing moves past a call that nobody knows
        s.parallel("i_0")


def test_an_implementation_that_can_be_proved_is_not_believed() -> None:
    with pytest.raises(NotApplicable, match="is to be proved: give the steps that lead to it"):
        TensorIntrin.of("mma", DESCRIPTION, DESCRIPTION.replace("A[vi, vk] * B[vk, vj]", "A[vi, vk]"))


def test_steps_that_cannot_be_noted_make_no_intrinsic() -> None:
    function = """
@T.prim_func
def double(X: T.Buffer((4,), "float32")):
    for k in range(4):
        X[k] = X[k] * 2.0
"""
    site = function.replace("def double", "def main")
    for factors, problem in ([4], ""), (range(4, 5), "an argument of type range has no text"):
        part = Schedule(function)
        part.split("k", factors)
        s = Schedule(site)
        if not problem:
            s.tensorize("k", part)
            continue
        with pytest.raises(NotApplicable, match=f"the step cannot be made again: {problem}"):
            s.tensorize("k", part)
        assert len(s.steps) == 1


# -- names and notes ---------------------------------------------------------------------------------------------------


def test_intrinsics_are_known_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Intrinsic, "registered", {})
    TensorIntrin.register("mma", DESCRIPTION, unrolled)
    TensorIntrin.register("mma", DESCRIPTION, unrolled)  # as when a file is loaded twice
    with pytest.raises(ValueError, match="there is another intrinsic 'mma' already"):
        TensorIntrin.register("mma", DESCRIPTION)
    s = Schedule(MATMUL)
    loop = tiled(s)
    with pytest.raises(NotApplicable, match="there is no intrinsic 'mmb'; registered are mma"):
        s.tensorize(loop, "mmb")
    with pytest.raises(NotApplicable, match="an intrinsic is a TensorIntrin, its name"):
        s.tensorize(loop, 7)
    s.tensorize(loop, "mma")
    monkeypatch.setattr(Intrinsic, "registered", {})  # the note holds the intrinsic itself
    calls = [r.call for r in s.steps[1:] if r.call is not None]
    again = made_again(script(s.steps[0].before), calls, Solver())
    assert again.script() == s.script()


def test_what_the_intrinsic_needs_is_proved_for_arguments_of_any_kind() -> None:
    """A lemma about definite values would say nothing of a tile that was only half written."""
    intrin = TensorIntrin.of("mma", DESCRIPTION, unrolled)
    local = MATMUL.replace('C: T.Buffer((4, 4), "float32")', 'D: T.Buffer((1,), "float32")')
    local = local.replace("    for i,", '    C = T.alloc_buffer((4, 4), "float32")\n    for i,', 1)
    s = Schedule(f"{local}    D[0] = C[3, 3]\n")
    s.tensorize(tiled(s), intrin)
    agree(s)


# -- blockize ----------------------------------------------------------------------------------------------------------


def test_blockize_names_a_nest_with_its_regions() -> None:
    s = Schedule(MATMUL)
    loop = tiled(s)
    assert s.blockize(loop) == "C_o"
    agree(s)
    assert program(s.script(), "C_o").split("\n")[0] == (
        'T.sblock_attr({"reads": ["C[2 * i_0:2 * i_0 + 2, 2 * j_0:2 * j_0 + 2]", "A[2 * i_0:2 * i_0 + 2, '
        '2 * k_0:2 * k_0 + 2]", "B[2 * k_0:2 * k_0 + 2, 2 * j_0:2 * j_0 + 2]"], '
        '"writes": ["C[2 * i_0:2 * i_0 + 2, 2 * j_0:2 * j_0 + 2]"]})'
    )
    with pytest.raises(NotApplicable, match="there is a block called 'C_o' already"):
        s.blockize(loop)
    assert s.blockize("k_0", name="outer") == "outer"


def test_a_region_that_cannot_be_told_is_the_whole_buffer() -> None:
    inside = "if 0 <= A[i] and A[i] < 4:\n            B[A[i]] = i"
    text = f"@T.prim_func\ndef f({ARRAYS}):\n    for i in range(4):\n        {inside}"
    s = Schedule(text)
    with pytest.raises(NotApplicable, match="give a name"):
        s.blockize("i")
    s.blockize("i", name="scatter")
    assert 'T.sblock_attr({"reads": ["A[0:4]"], "writes": ["B[0:4]"]})' in s.script()
