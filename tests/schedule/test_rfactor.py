"""rfactor: reductions in groups."""

from __future__ import annotations

import numpy as np
import pytest

from tests.schedule.schedule_support import Steps, accepted, agree, not_applicable, refused
from verified_tir import NotApplicable, Schedule, parse_func
from verified_tir.derivation.assumptions import reassociated
from verified_tir.ir.script import script
from verified_tir.semantics.interpreter import run

BLOCK = """
@T.prim_func
def f(A: T.Buffer(({n}, {m}), "{dtype}"), B: T.Buffer(({n},), "{dtype}")):
    for i, k in T.grid({n}, {m}):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = {zero}
            B[vi] = {value}
"""


def block(dtype: str = "int32", zero: str = "0", value: str = "B[vi] + A[vi, vk]", n: int = 4, m: int = 10) -> str:
    return BLOCK.format(dtype=dtype, zero=zero, value=value, n=n, m=m)


def body(s: Schedule) -> str:
    return s.script().split("):\n", 1)[1].rstrip("\n")


# -- as TVM writes it --------------------------------------------------------------------------------------------------


def test_a_sum_in_a_block() -> None:
    """The remainder of a split is guarded; the groups are by the inner loop."""
    s = accepted(block(), lambda s: s.rfactor(s.split("k", [None, 4])[1]))
    assert s.blocks == ["B_rf", "B"]
    assert s.assumptions == ["A, B hold definite values, and what is written overlaps no other argument"]
    assert (
        body(s)
        == """
    B_rf = T.alloc_buffer((4, 4), "int32")
    for i, k_0, k_1 in T.grid(4, 3, 4):
        if k_0 * 4 + k_1 < 10:
            with T.sblock("B_rf"):
                if k_0 == 0:
                    B_rf[k_1, i] = 0
                B_rf[k_1, i] = B_rf[k_1, i] + A[i, k_0 * 4 + k_1]
    for i, k_1 in T.grid(4, 4):
        with T.sblock("B"):
            if k_1 == 0:
                B[i] = 0
            B[i] = B[i] + B_rf[k_1, i]""".lstrip("\n")
    )


def test_the_new_dimension_stands_where_it_is_wanted() -> None:
    for axis, shape, index in ((0, "(2, 4)", "[k_0, i]"), (1, "(4, 2)", "[i, k_0]"), (-1, "(4, 2)", "[i, k_0]")):
        s = accepted(block(), lambda s, axis=axis: s.rfactor(s.split("k", [2, None])[0], axis))  # type: ignore[misc]
        assert f"B_rf = T.alloc_buffer({shape}" in s.script()
        assert f"B_rf{index} = B_rf{index} + A[i, k_0 * 5 + k_1]" in s.script()
        assert f"B[i] = B[i] + B_rf{index}" in s.script()


def test_what_it_is_for() -> None:
    """Partial results are computed in parallel and in lanes; a sum into one element never is."""
    s = Schedule(block(m=16))
    i, k = s.loops("B")
    outer, inner = s.split(k, [None, 4])
    assert s.rfactor(inner) == "B_rf"
    i, outer, inner = s.loops("B_rf")
    s.reorder(inner, i, outer)
    s.parallel(inner)
    agree(s)
    s = Schedule(block(m=16))
    outer, inner = s.split("k", [None, 4])
    s.rfactor(inner, 1)
    s.vectorize(s.loops("B_rf")[-1])
    s.parallel(s.loops("B")[0])
    agree(s)
    refused(
        block(m=16),
        lambda s: (s.decompose_reduction("B", "i"), s.vectorize("k")),
        "no two of its iterations read and write the same element of B",
    )


def test_handles_stay_with_the_partial_results() -> None:
    s = Schedule(block(m=16))
    i, k = s.loops("B")
    _, lane = s.split(k, [None, 8])
    s.rfactor(lane)
    s.vectorize(lane)
    s.parallel(i)
    partial_sums, _, last = s.script().partition('with T.sblock("B_rf")')
    assert "for i in T.parallel(4):" in partial_sums and "for k_1 in T.vectorized(8):" in partial_sums
    assert "parallel" not in last and "vectorized" not in last
    agree(s)


def test_a_recorded_trace_means_the_same_loops() -> None:
    """In a trace, handles mean the loops of the block that keeps its name, as in TVM; others are looked up again."""
    s = Schedule(block(m=16))
    _, lane = s.split("k", [None, 8])
    s.rfactor(lane)
    s.vectorize(lane)
    s.unroll(s.loops("B")[-1])
    again = Schedule(block(m=16))
    s.trace.apply_to_schedule(again)
    assert again.script() == s.script()


def in_a_trace(program: str) -> Schedule:
    """A schedule whose handles mean what they mean in TVM."""
    s = Schedule(program)
    s._session.handles_of_tvm = True
    return s


def test_handles_mean_the_loops_of_the_block_that_keeps_its_name() -> None:
    """As in TVM; a loop that is summed already runs over the partial results alone, and is meant there."""
    s = in_a_trace(block())
    i, k = s.loops("B")
    outer, inner = s.split(k, [2, None])
    s.parallel(i)
    s.annotate(outer, "pragma", 1)
    s.rfactor(outer)
    s.unroll(outer)
    s.annotate(inner, "pragma", 2)
    assert (
        body(s)
        == """
    B_rf = T.alloc_buffer((2, 4), "int32")
    for i in T.parallel(4):
        for k_0 in T.serial(2, annotations={"pragma": 1}):
            for k_1 in T.serial(5, annotations={"pragma": 2}):
                with T.sblock("B_rf"):
                    if k_1 == 0:
                        B_rf[k_0, i] = 0
                    B_rf[k_0, i] = B_rf[k_0, i] + A[i, k_0 * 5 + k_1]
    for i in T.parallel(4):
        for k_0 in T.unroll(2, annotations={"pragma": 1}):
            with T.sblock("B"):
                if k_0 == 0:
                    B[i] = 0
                B[i] = B[i] + B_rf[k_0, i]""".lstrip("\n")
    )
    agree(s)


def test_handles_of_loops_over_elements_under_a_guard() -> None:
    s = in_a_trace(block(n=7))
    i, k = s.loops("B")
    i_0, i_1 = s.split(i, [None, 2])
    s.rfactor(k)
    assert s.loops("B")[:2] != [i_0, i_1] != s.loops("B_rf")[:2]
    s.reorder(i_1, i_0)
    s.unroll(i_1)
    assert [v.name for v in s.loops("B")] == ["i_1", "i_0", "k"]
    assert [v.name for v in s.loops("B_rf")] == ["i_0", "i_1", "k"]
    agree(s)


WINDOWS = """
@T.prim_func
def f(A: T.Buffer((10,), "int32"), B: T.Buffer((6,), "int32")):
    for i in range(6):
        B[i] = 0
    for i, j, k in T.grid(3, 4, 2):
        with T.block("B"):
            B[i + j] = B[i + j] + A[i + j + k]
"""


def test_handles_of_loops_that_pass_an_element_often_are_gone() -> None:
    """The sum of the partial results runs over elements, one by one."""
    s = in_a_trace(WINDOWS)
    i, _, k = s.loops("B")
    s.rfactor(k)
    s.unroll(k)
    with pytest.raises(NotApplicable, match="block B runs over elements now, one by one"):
        s.unroll(i)
    s.unroll(s.loops("B_rf")[0])
    agree(s)


# -- other nests -------------------------------------------------------------------------------------------------------

PLAIN = """
@T.prim_func
def f(A: T.Buffer(({shape}), "{dtype}"), B: T.Buffer((4,), "{dtype}"), n: T.int32):
    {statements}
"""


def plain(statements: str, shape: str = "6, 4, 10", dtype: str = "int32") -> str:
    return PLAIN.format(shape=shape, dtype=dtype, statements=statements.replace("\n", "\n    "))


def test_a_nest_without_blocks() -> None:
    """One element of the result: the groups are all that is kept."""
    s = accepted(plain("B[2] = 7\nfor k in range(10):\n    B[2] = B[2] + A[0, 0, k]"), lambda s: s.rfactor("k"))
    assert (
        body(s)
        == """
    B[2] = 7
    B_rf = T.alloc_buffer((10,), "int32")
    for k_init in range(10):
        with T.sblock("B_rf_init"):
            B_rf[k_init] = 0
    for k in range(10):
        with T.sblock("B_rf"):
            B_rf[k] = B_rf[k] + A[0, 0, k]
    for k in range(10):
        with T.sblock("B"):
            B[2] = B[2] + B_rf[k]""".lstrip("\n")
    )


@pytest.mark.parametrize("loop", ["r", "k", "l"])
@pytest.mark.parametrize("order", ["r i k l", "i r k l", "k l r i", "i k l r"])
def test_several_loops_of_a_reduction_in_any_order(order: str, loop: str) -> None:
    extents = {"r": 3, "i": 4, "k": 2, "l": 5}
    lines = [f"{'    ' * d}for {v} in range({extents[v]}):" for d, v in enumerate(order.split())]
    text = "\n".join([*lines, "                B[i] = B[i] + A[r, i, k * 5 + l]"])
    s = accepted(plain(text), lambda s: s.rfactor(loop, 1))
    assert f"B_rf = T.alloc_buffer((4, {extents[loop]})" in s.script()
    assert f"B_rf[i, {loop}] = B_rf[i, {loop}] + A[r, i, k * 5 + l]" in s.script()


def test_the_initialisation_under_the_loop_over_elements() -> None:
    """Then the groups of one element at a time are kept."""
    s = accepted(plain("for i in range(4):\n    B[i] = 0\n    for k in range(10):\n        B[i] = B[i] + A[0, i, k]"),
                 lambda s: s.rfactor("k"))  # fmt: skip
    assert "        B_rf = T.alloc_buffer((10,)" in s.script()


def test_guards_and_lets_between_the_loops() -> None:
    text = """
for i in range(4):
    if A[0, i, 0] > 1:
        for k in range(10):
            with T.LetStmt(A[1, i, k] * 3) as v:
                if v > 4 and i + k < n:
                    B[i] = B[i] + v * v"""
    s = accepted(plain(text.lstrip("\n")), lambda s: s.rfactor(s.split("k", [None, 4])[0]))
    assert "B_rf[k_0, i] = B_rf[k_0, i] + v * v" in s.script()


def test_a_loop_that_does_not_begin_at_zero() -> None:
    s = accepted(plain("for k in range(3, 9):\n    B[1] = B[1] + A[0, 0, k]"), lambda s: s.rfactor("k"))
    assert "B_rf[k - 3] = B_rf[k - 3] + A[0, 0, k]" in s.script()


def test_a_histogram() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((12,), "int32"), B: T.Buffer((4,), "int32")):
    for k in range(12):
        if A[k] >= 0 and A[k] < 4:
            B[A[k]] = B[A[k]] + 1
"""
    s = accepted(text, lambda s: s.rfactor(s.split("k", [3, 4])[0]))
    assert "B_rf[k_0, A[k_0 * 4 + k_1]] = B_rf[k_0, A[k_0 * 4 + k_1]] + 1" in s.script()
    s.parallel(s.loops("B_rf")[0])
    agree(s)


SYMBOLIC = """
@T.prim_func
def f(A: T.Buffer(("m", "n"), "int32"), B: T.Buffer(("m",), "int32"), m: T.int32, n: T.int32):
    for i in range(m):
        B[i] = 0
    for i, k in T.grid(m, n):
        B[i] = B[i] + A[i, k]
"""


@pytest.mark.parametrize("which", [0, 1])
def test_symbolic_extents_that_may_be_zero(which: int) -> None:
    s = accepted(SYMBOLIC, lambda s: s.rfactor(s.split("k", [None, 8])[which]))
    assert f"B_rf = T.alloc_buffer(({'8' if which else '(n + 7) // 8'}, m)" in s.script()
    assert s.validate(sizes=[{"m": m, "n": n} for m in (0, 2) for n in (0, 1, 9)]).word == "agrees"


def test_a_block_that_may_be_empty_initialises_nothing_then() -> None:
    text = block().replace("4, 10", '"m", "n"').replace("(4,)", '("m",)')
    text = text.replace('T.grid("m", "n")', "T.grid(m, n)")
    text = text.replace('"int32")):', '"int32"), m: T.int32, n: T.int32):')
    text = text.replace("    for i,", "{assumed}    for i,")
    refusal = refused(
        text.replace("{assumed}", ""), lambda s: s.rfactor("k"), "every new iteration is an old one of (k)"
    )
    assert refusal.counterexample["n"] == 0
    accepted(text.replace("{assumed}", "    T.assume(n >= 1)\n"), lambda s: s.rfactor("k"))


def test_again_and_again() -> None:
    """A tree: the sum of the groups is a reduction too, and so is each group; the last ones have one term each."""

    def steps(s: Schedule) -> None:
        _, inner = s.split("k", [None, 4])
        s.rfactor(inner)
        _, inner = s.split(s.loops("B")[-1], [None, 2])
        assert s.rfactor(inner) == "B_rf_1"
        assert s.rfactor(s.loops("B_rf")[1], 1) == "B_rf_rf"

    s = accepted(block(m=16), steps)
    assert s.blocks == ["B_rf_rf_init", "B_rf_rf", "B_rf", "B_rf_1", "B"]


# -- operations --------------------------------------------------------------------------------------------------------


@pytest.mark.sample(6)
@pytest.mark.parametrize(
    ("dtype", "value", "identity"),
    [
        ("int8", "B[vi] + A[vi, vk]", "T.int8(0)"),
        ("uint8", "B[vi] * A[vi, vk]", "T.uint8(1)"),
        ("int64", "A[vi, vk] * B[vi]", "T.int64(1)"),
        ("int32", "T.max(B[vi], A[vi, vk])", "-2147483648"),
        ("int16", "T.min(B[vi], A[vi, vk])", "T.int16(32767)"),
        ("uint32", "T.max(A[vi, vk], B[vi])", "T.uint32(0)"),
        ("int32", "B[vi] & A[vi, vk]", "-1"),
        ("int32", "B[vi] | A[vi, vk]", "0"),
        ("int32", "B[vi] ^ A[vi, vk]", "0"),
    ],
)
def test_integers_need_no_word(dtype: str, value: str, identity: str) -> None:
    zero = "0" if dtype == "int32" else f"T.{dtype}(0)"
    s = accepted(block(dtype, zero, value), lambda s: s.rfactor(s.split("k", [None, 4])[1]))
    assert s.theorem.reassociated == frozenset()
    assert f"B_rf[k_1, i] = {identity}\n" in s.script()


BOOLS = """
@T.prim_func
def f(A: T.Buffer((12,), "bool"), C: T.Buffer((12,), "int32"), B: T.Buffer((1,), "bool")):
    B[0] = T.bool({start})
    for k in range(12):
        B[0] = B[0] {op} {term}
"""


@pytest.mark.parametrize(("op", "start"), [("and", True), ("or", False), ("&", True), ("|", False), ("^", False)])
def test_bools(op: str, start: bool) -> None:
    text = BOOLS.format(op=op, start=start, term="A[k]")
    s = accepted(text, lambda s: s.rfactor(s.split("k", [None, 4])[1]))
    assert f"B_rf[k_1_init, 0] = T.bool({start})" in s.script()


# -- floats ------------------------------------------------------------------------------------------------------------

FLOAT = block("float32", "T.float32(0)")


def test_a_float_sum_needs_the_users_word() -> None:
    refusal = refused(
        FLOAT,
        lambda s: s.rfactor(s.split("k", [None, 4])[1]),
        "the sum of float32 into B has the same bits in any order (another order may be allowed: "
        'rfactor(…, reassociate="B"))',
    )
    assert " before, " in str(refusal) and "(confirmed)" in str(refusal)
    product = block("float64", "T.float64(1)", "B[vi] * A[vi, vk]")
    refused(
        product,
        lambda s: s.rfactor(s.split("k", [None, 4])[1]),
        "the product of float64 into B has the same bits in any order",
    )


def test_with_the_users_word() -> None:
    s = Schedule(FLOAT)
    s.rfactor(s.split("k", [None, 4])[1], reassociate="B")
    assert reassociated(s.theorem) == ["B"]
    assert s.assumptions[-1] == ("the bits of a float reduction into B may be those of another order of its terms")
    assert "B_rf[k_1, i] = T.float32(-0.0)" in s.script()
    assert str(s.steps[-1]) == "rfactor(k_1, 0, reassociate=B)"
    opinion = s.validate()
    assert opinion.word == "agrees" and "equal over the reals: 4 elements of B are sums" in opinion.sentence
    not_applicable(FLOAT, lambda s: s.rfactor("k", reassociate="A"), "the reduction is one into B, not into 'A'")


def test_an_integer_sum_does_not_become_inexact_by_a_word() -> None:
    s = accepted(block(), lambda s: s.rfactor("k", reassociate="B"))
    assert s.theorem.reassociated == frozenset()


def test_undefined_terms_and_special_values() -> None:
    """-0.0 is kept by empty groups: with 0.0 as the identity the sum of -0.0 alone would be 0.0."""
    text = """
@T.prim_func
def f(A: T.Buffer((3,), "float32"), B: T.Buffer((1,), "float32")):
    for k in range(3):
        B[0] = B[0] + A[k]
"""
    s = Schedule(text)
    s.rfactor(s.split("k", [None, 4])[1], reassociate="B")
    zeros = {"A": np.full(3, -0.0, np.float32), "B": np.full(1, -0.0, np.float32)}
    assert np.signbit(run(s.func, zeros).arrays["B"][0])


MAXIMUM = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((1,), "float32")):
    {assumed}
    B[0] = T.float32("-inf")
    for k in range(4):
        B[0] = T.max(B[0], {term})
"""
DEFINITE = "for i in range(4):\n        T.assume(A[i] == A[i])"


def maximum(term: str = "A[k]", assumed: str = "") -> str:
    return MAXIMUM.format(term=term, assumed=assumed).replace("    \n", "")


def test_a_float_maximum_of_what_is_neither_nan_nor_a_negative_zero_is_exact() -> None:
    s = Schedule(maximum("T.max(A[k], T.float32(0))"))
    s.rfactor(s.split("k", [2, 2])[1])
    agree(s)
    assert s.theorem.reassociated == frozenset()
    assert "B[0] = T.max(B_rf[k_1, 0], B[0])" in s.script()
    assert s.validate().word == "agrees"


def test_nan_makes_the_order_of_a_maximum_matter() -> None:
    remedy = "is NaN (assume it: T.assume(x == x) is false of NaN)"
    for word in ("", "B"):
        refused(maximum(), lambda s, word=word: s.rfactor(s.split("k", [2, 2])[1], reassociate=word), remedy)  # type: ignore[misc]


def test_zeros_of_both_signs_make_the_order_of_a_maximum_matter() -> None:
    def steps(s: Schedule, word: str = "") -> None:
        s.rfactor(s.split("k", [2, 2])[1], reassociate=word)

    refused(maximum(assumed=DEFINITE), steps, "no term of the max into B is -0.0 (another order may be allowed")
    s = Schedule(maximum(assumed=DEFINITE))
    steps(s, "B")
    assert reassociated(s.theorem) == ["B"]
    assert s.validate().word == "agrees"


def test_an_assumption_about_a_sum_forbids_another_order() -> None:
    s = Schedule(FLOAT + "    T.assume(B[0] < T.float32(4))\n")
    with pytest.raises(NotApplicable, match="may be false of a sum in another order"):
        s.rfactor("k", reassociate="B")


# -- what is not a reduction -------------------------------------------------------------------------------------------

ARGMAX = """
@T.prim_func
def f(A: T.Buffer((10,), "int32"), V: T.Buffer((1,), "int32"), P: T.Buffer((1,), "int32")):
    for k in range(10):
        with T.block("argmax"):
            vk = T.axis.reduce(10, k)
            with T.init():
                V[0] = -2147483648
                P[0] = -1
            if A[vk] > V[0]:
                V[0] = A[vk]
                P[0] = vk
"""


@pytest.mark.parametrize(
    ("text", "steps", "words"),
    [
        (
            block(),
            lambda s: s.rfactor("i"),
            "the loop over i runs over elements of B, not over the reduction",
        ),
        (block(), lambda s: s.rfactor("k", 2), "so factor_axis is from -2 to 1, not 2"),
        (
            plain("for k in range(9):\n    B[0] = B[0] + A[0, 0, k]"),
            lambda s: s.rfactor("k", 1),
            "have 1 dimension, so factor_axis is from -1 to 0, not 1",
        ),
        (block(), lambda s: s.rfactor("k", True), "so factor_axis is from -2 to 1, not True"),
        (block(), lambda s: s.rfactor("q"), "there is no loop called 'q'"),
        (
            ARGMAX,
            lambda s: s.rfactor("k"),
            "updates several buffers at once (V, P); a reduction of tuples is not split",
        ),
        (
            plain("for k in range(9):\n    B[0] = B[0] - A[0, 0, k]"),
            lambda s: s.rfactor("k"),
            "sub on int32 is not associative with an identity",
        ),
        (
            plain("for k in range(9):\n    B[0] = B[0] + A[0, 0, k] + B[1]"),
            lambda s: s.rfactor("k"),
            "the store to B is not an update B[x] = B[x] + e",
        ),
        (
            plain("for k in range(9):\n    if B[1] > 0:\n        B[0] = B[0] + A[0, 0, k]"),
            lambda s: s.rfactor("k"),
            "B is read in the nest other than by its own update",
        ),
        (
            plain("for k in range(9):\n    B[0] = B[0] + A[0, 0, k]\n    B[1] = k"),
            lambda s: s.rfactor("k"),
            "stands something other than one update",
        ),
        (
            plain("for i in range(4):\n    for k in range(i):\n        B[i] = B[i] + A[0, 0, k]"),
            lambda s: s.rfactor("k"),
            "the range of the loop over k depends on i, so the number of partial results is not known before the nest",
        ),
    ],
)
def test_what_is_no_reduction(text: str, steps: Steps, words: str) -> None:
    not_applicable(text, steps, words)


def test_a_result_with_views_is_read_through_them() -> None:
    text = plain('V = T.decl_buffer((4,), "int32", data=B.data)\nfor k in range(4):\n    B[2] = B[2] + V[k]')
    not_applicable(text, lambda s: s.rfactor("k"), "is read in the nest other than")


def test_the_text_reads_back() -> None:
    s = Schedule(block())
    s.rfactor("k")
    assert script(parse_func(s.script())) == s.script()


def test_a_let_around_the_update() -> None:
    """As TVM's texts of tuple reductions bind what they store."""
    text = block().replace(
        "            B[vi] = B[vi] + A[vi, vk]",
        "            x: T.let[T.int32] = B[vi] + A[vi, vk]\n            B[vi] = x",
    )
    s = accepted(text, lambda s: s.rfactor(s.split("k", [None, 5])[1]))
    assert "B_rf[k_1, i] = B_rf[k_1, i] + A[i, k_0 * 5 + k_1]" in s.script()
