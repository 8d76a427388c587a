"""pad_einsum: sums of products over padded loops, on padded copies."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.nightly import few
from tests.schedule.schedule_support import Steps, accepted, agree, not_applicable, refused
from verified_tir import Schedule
from verified_tir.schedule.session import TacticFailed
from verified_tir.schedule.tactics.pad_einsum import pad_einsum

PRODUCT = """
@T.prim_func
def f(A: T.Buffer((7, 6), "{dtype}"), B: T.Buffer((6, 5), "{dtype}"), C: T.Buffer((7, 5), "{total}")):
    for i, j, k in T.grid(7, 5, 6):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.{total}(0)
            C[vi, vj] = C[vi, vj] + {value}
"""
PLAIN = "A[vi, vk] * B[vk, vj]"
WIDENED = 'T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])'


def product(dtype: str = "float32", total: str = "", value: str = PLAIN) -> str:
    return PRODUCT.format(dtype=dtype, total=total or dtype, value=value)


def body(s: Schedule) -> str:
    return s.script().split("):\n", 1)[1].rstrip("\n")


COPIES = """
    A_pad = T.alloc_buffer((8, 8), "{0}")
    for ax0, ax1 in T.grid(7, 6):
        with T.sblock("A_pad"):
            A_pad[ax0, ax1] = A[ax0, ax1]
    for x0, x1 in T.grid(8, 8):
        with T.sblock("A_pad_padding"):
            if x0 >= 7 or x1 >= 6:
                A_pad[x0, x1] = {1}
    B_pad = T.alloc_buffer((8, 8), "{0}")
    for ax0, ax1 in T.grid(6, 5):
        with T.sblock("B_pad"):
            B_pad[ax0, ax1] = B[ax0, ax1]
    for x0, x1 in T.grid(8, 8):
        with T.sblock("B_pad_padding"):
            if x0 >= 6 or x1 >= 5:
                B_pad[x0, x1] = {1}
"""
BACK = """
    for ax0, ax1 in T.grid(7, 5):
        with T.sblock("C_pad_back"):
            C[ax0, ax1] = C_pad[ax0, ax1]
"""


def test_a_quantized_product() -> None:
    """Integers: the initialisation stays where it is."""
    s = accepted(product("int8", "int32", WIDENED), lambda s: s.pad_einsum("C", [4, 4, 4]))
    middle = """
    C_pad = T.alloc_buffer((8, 8), "int32")
    for i, j, k in T.grid(8, 8, 8):
        with T.sblock("C"):
            if k == 0:
                C_pad[i, j] = 0
            C_pad[i, j] = C_pad[i, j] + T.Cast("int32", A_pad[i, k]) * T.Cast("int32", B_pad[k, j])
"""
    assert body(s) == COPIES.format("int8", "T.int8(0)").strip("\n") + middle.rstrip("\n") + BACK.rstrip("\n")
    assert s.validate().word == "agrees"


def test_a_product_of_floats() -> None:
    """That C is never -0.0 comes from the zeros that are stored before."""
    s = accepted(product(), lambda s: s.pad_einsum("C", [4, 4, 4]))
    middle = """
    C_pad = T.alloc_buffer((8, 8), "float32")
    for i, j, k in T.grid(8, 8, 8):
        with T.sblock("C"):
            if k == 0:
                C_pad[i, j] = T.float32(0.0)
            C_pad[i, j] = C_pad[i, j] + A_pad[i, k] * B_pad[k, j]
"""
    assert body(s) == COPIES.format("float32", "T.float32(0.0)").strip("\n") + middle.rstrip("\n") + BACK.rstrip("\n")
    assert s.theorem.reassociated == frozenset()
    assert s.validate().word == "agrees"


def test_only_what_is_padded_is_copied() -> None:
    s = accepted(product(), lambda s: s.pad_einsum("C", [1, 4, 1]))
    assert [b.name for b in s.buffers] == ["A", "B", "C", "B_pad", "C_pad"]
    s = accepted(product(), lambda s: s.pad_einsum("C", [1, 1, 4]))
    assert [b.name for b in s.buffers] == ["A", "B", "C", "A_pad", "B_pad"]
    s = accepted(product(), lambda s: s.pad_einsum("C", [7, 5, 3]))
    assert s.theorem.derivation == () and s.steps[-1].name == "pad_einsum"


def test_the_loops_may_stand_in_any_order() -> None:
    text = product().replace("for i, j, k in T.grid(7, 5, 6)", "for k, i, j in T.grid(6, 7, 5)")
    s = accepted(text, lambda s: s.pad_einsum("C", [4, 4, 4]))
    assert '    for k, i, j in T.grid(8, 8, 8):\n        with T.sblock("C"):\n            if k == 0:' in s.script()


def test_going_on_with_it() -> None:
    """What padding is for: whole tiles and lanes, no conditions."""
    s = Schedule(product())
    i, j, k = s.loops("C")
    s.pad_einsum("C", [4, 4, 1])
    i_0, i_1 = s.split(i, [None, 4])
    j_0, j_1 = s.split(j, [None, 4])
    s.reorder(i_0, j_0, k, i_1, j_1)
    s.parallel(i_0)
    agree(s)
    assert " if i" not in s.script() and " if j" not in s.script()


def test_symbolic_extents() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer(("n", "l"), "float32"), B: T.Buffer(("l",), "float32"), C: T.Buffer(("n",), "float32"), n: T.int32,
      l: T.int32):
    for i in range(n):
        C[i] = 0.0
    for i, k in T.grid(n, l):
        with T.block("C"):
            C[i] = C[i] + A[i, k] * B[k]
"""
    s = accepted(text, lambda s: s.pad_einsum("C", [4, 8]))
    assert "for i, k in T.grid((n + 3) // 4 * 4, (l + 7) // 8 * 8):" in s.script()
    assert 'A_pad = T.alloc_buffer(((n + 3) // 4 * 4, (l + 7) // 8 * 8), "float32")' in s.script()
    assert s.validate(sizes=[{"n": n, "l": l} for n, l in ((0, 0), (0, 3), (5, 0), (4, 8), (5, 9))]).word == "agrees"


SCALED = """
@T.prim_func
def f(A: T.Buffer((7, 6), "{dtype}"), D: T.Buffer((7,), "{dtype}"), C: T.Buffer((7,), "{dtype}")):
    {assumed}
    for i in range(7):
        C[i] = T.{dtype}({start})
    for i, k in T.grid(7, 6):
        with T.block("C"):
            C[i] = C[i] + A[i, k] * D[i]
"""


def scaled(dtype: str = "float32", start: str = "0", assumed: str = "") -> str:
    return SCALED.format(dtype=dtype, start=start, assumed=assumed).replace("    \n", "")


def test_a_factor_without_the_loop_must_be_finite() -> None:
    remedy = "(D is not indexed by k, and 0 * inf is nan: assume that it is finite)"
    refused(scaled(), lambda s: s.pad_einsum("C", [1, 4]), remedy)
    finite = "for q in range(7):\n        T.assume(D[q] - D[q] == T.float32(0))"
    s = Schedule(scaled(assumed=finite))
    s.pad_einsum("C", [1, 4])
    assert [b.name for b in s.buffers] == ["A", "D", "C", "A_pad"]
    accepted(scaled("int32"), lambda s: s.pad_einsum("C", [1, 4]))
    accepted(scaled(), lambda s: s.pad_einsum("C", [4, 1]))


@pytest.mark.nightly
def test_a_sum_that_may_be_a_negative_zero() -> None:
    remedy = "(C may be -0.0, and -0.0 + 0.0 is 0.0: let the sum begin with 0.0)"
    text = scaled(start="-0.0").replace("D[i]\n", "A[i, k]\n")
    refused(text.replace("A[i, k] * A", "A"), lambda s: s.pad_einsum("C", [1, 4]), remedy)
    accumulated = scaled().replace("    for i in range(7):\n        C[i] = T.float32(0)\n", "").replace(" * D[i]", "")
    refused(accumulated, lambda s: s.pad_einsum("C", [1, 4]), remedy)
    s = accepted(accumulated, lambda s: s.pad_einsum("C", [4, 1]))
    assert "C_pad[ax0] = C[ax0]" in s.script()  # what C held is wanted
    accepted(accumulated.replace("float32", "int16"), lambda s: s.pad_einsum("C", [4, 4]))


@pytest.mark.nightly
def test_an_empty_sum_initialises_nothing() -> None:
    """As decompose_reduction: where the loop may make no iteration the zeros would be stored all the same."""
    text = product().replace("(7, 6)", '(7, "l")').replace("(6, 5)", '("l", 5)').replace("(7, 5, 6)", "(7, 5, l)")
    text = text.replace('"float32")):', '"float32"), l: T.int32):')
    refused(text, lambda s: s.pad_einsum("C", [1, 1, 4]), "every new iteration is an old one of (k)")
    accepted(text.replace("    for i,", "    T.assume(l >= 1)\n    for i,"), lambda s: s.pad_einsum("C", [1, 1, 4]))


CONVOLUTION = """
@T.prim_func
def f(A: T.Buffer((9,), "int32"), W: T.Buffer((3,), "int32"), C: T.Buffer((7,), "int32")):
    for i, k in T.grid(7, 3):
        with T.block("C"):
            C[i] = {0}
"""


@pytest.mark.parametrize(
    ("text", "steps", "words"),
    [
        (CONVOLUTION.format("C[i] + A[i + k] * W[k]"), lambda s: s.pad_einsum("C", [4, 4]),
         "an index of A is neither a loop's variable nor a constant, so block C is not an einsum"),
        (CONVOLUTION.format("T.max(C[i], A[i] * W[k])"), lambda s: s.pad_einsum("C", [4, 4]), "is updated otherwise"),
        (CONVOLUTION.format("C[i] + (A[i] + W[k])"), lambda s: s.pad_einsum("C", [4, 4]), "is updated otherwise"),
        (CONVOLUTION.format("C[i] + A[i] * C[i]"), lambda s: s.pad_einsum("C", [4, 4]),
         "a factor is read from C itself"),
        (CONVOLUTION.format("C[i] + A[i]"), lambda s: s.pad_einsum("C", [4, 4]),
         "nothing is indexed by the loop over k"),
        (product(), lambda s: s.pad_einsum("C", [4, 4]), "one factor for each of the loops i, j, k, not [4, 4]"),
        (product(), lambda s: s.pad_einsum("C", [4, 0, 4]), "a multiple of a positive integer, not of 0"),
        (product(), lambda s: s.pad_einsum("C", [4, True, 4]), "a multiple of a positive integer, not of True"),
        (product(), lambda s: s.pad_einsum("D", [4, 4, 4]), "there is no block called 'D'"),
        (product(), lambda s: (s.split("k", [None, 4]), s.pad_einsum("C", [4, 4, 4, 4])), "no loop stands directly"),
        (product(value="A[vi, vk] * A[vj, vk]").replace("(6, 5)", "(7, 6)"), lambda s: s.pad_einsum("C", [4, 7, 4]),
         "A is read at loops that are padded to different extents"),
    ],
)  # fmt: skip
def test_what_is_no_sum_of_products(text: str, steps: Steps, words: str) -> None:
    not_applicable(text, steps, words)


@st.composite
def sums(draw: st.DrawFn) -> tuple[str, list[int]]:
    """A sum of products of up to three factors, and what its loops are padded to."""
    dtype = draw(st.sampled_from(["int32", "int8", "float32"]))
    extents = {v: draw(st.integers(1, 5)) for v in "ijk"}
    order = draw(st.permutations(list("ijk")))
    buffers: list[tuple[str, list[str]]] = []
    for name in draw(st.sampled_from(["A", "AB", "ABD"])):
        buffers.append((name, draw(st.permutations(list("ijk")))[: draw(st.integers(1, 3))]))
    result = draw(st.sampled_from([["i"], ["i", "j"], ["j", "i"]]))
    declared = [*buffers, ("C", result)]
    params = ", ".join(
        f'{name}: T.Buffer(({", ".join(str(extents[v]) for v in of)},), "{dtype}")' for name, of in declared
    )
    at = {name: f"{name}[{', '.join(of)}]" for name, of in declared}
    start = draw(st.sampled_from(["", f"T.{dtype}(0)", f"T.{dtype}(3)"]))
    lines = [f"@T.prim_func\ndef f({params}):"]
    if start:
        loops = ", ".join(f"{v}0" for v in result)
        ranges = ", ".join(str(extents[v]) for v in result)
        first = f"for {loops} in T.grid({ranges}):" if len(result) > 1 else f"for {loops} in range({ranges}):"
        lines += [f"    {first}", f"        C[{loops}] = {start}"]
    lines.append(f"    for {', '.join(order)} in T.grid({', '.join(str(extents[v]) for v in order)}):")
    lines += [
        '        with T.block("C"):',
        f"            {at['C']} = {at['C']} + {' * '.join(at[n] for n, _ in buffers)}",
    ]
    return "\n".join(lines), draw(st.lists(st.integers(1, 4), min_size=3, max_size=3))


@pytest.mark.nightly
@settings(
    max_examples=few(4, 12),
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(sums())
def test_what_is_accepted_keeps_every_bit(drawn: tuple[str, list[int]]) -> None:
    text, padding = drawn
    s = Schedule(text)
    try:  # the tactic by itself: a refusal is not replayed
        with s._session.atomic():
            pad_einsum(s._session, "C", padding)
    except TacticFailed:
        assert s.func is s.theorem.before
        return
    agree(s, work=400)
    assert s.theorem.reassociated == frozenset()
