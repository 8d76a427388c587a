"""Programs too large to be executed as a whole: what is found in chosen elements, and how it is labelled."""

import numpy as np
import pytest

from verified_tir import parse_func
from verified_tir.validate import Correspondence, Different, Equal, EqualInPart, Unknown, validate
from verified_tir.validate.verdict import Verdict

HEAD = "@T.prim_func\ndef f({params}):\n"
VECTORS = 'A: T.Buffer((100000,), "float32"), B: T.Buffer((100000,), "float32")'
SQUARES = ", ".join(f'{name}: T.Buffer((1024, 1024), "float32")' for name in "ABC")


def program(body: str, params: str = VECTORS):
    lines = "\n".join("    " + line for line in body.strip("\n").split("\n"))
    return parse_func(HEAD.format(params=params) + lines + "\n")


def verdict(before: str, after: str, params: str = VECTORS, **more) -> Verdict:
    more = {"most_operations": 20_000, **more}
    return validate(program(before, params), program(after, params), **more).verdict


SCALE = "for i in range(100000):\n    B[i] = A[i] * T.float32(2)"
TILED = """
for i0, i1 in T.grid(1563, 64):
    if {guard}:
        B[i0 * 64 + i1] = {value}
"""


FITS = "i0 * 64 + i1 < 100000"


def tiled(guard: str = FITS, value: str = "A[i0 * 64 + i1] * T.float32(2)") -> str:
    return TILED.format(guard=guard, value=value)


def test_the_label_says_how_many_of_how_many():
    found = verdict(SCALE, tiled())
    assert isinstance(found, EqualInPart) and not isinstance(found, Equal)
    assert found.total == 100000 and found.compared == 256 and not found.which
    said = "equal on 256 of 100000 elements, evaluated on demand; undefined behaviour elsewhere is not seen"
    assert str(found) == said
    assert isinstance(verdict(SCALE, tiled(), most_operations=10_000_000), Equal)


def test_without_elements_there_is_no_second_level():
    found = verdict(SCALE, tiled(), most_elements=0)
    assert isinstance(found, Unknown) and "20000 operations" in found.reason


@pytest.mark.parametrize(
    ("guard", "value", "element"),
    [
        # one element on either side of a tile boundary, and the tail
        (FITS, "T.if_then_else(i0 == 0 and i1 == 63, T.float32(1), A[i0 * 64 + i1] * T.float32(2))", 63),
        (FITS, "T.if_then_else(i0 == 1 and i1 == 0, T.float32(1), A[i0 * 64 + i1] * T.float32(2))", 64),
        ("i0 * 64 + i1 < 99999", "A[i0 * 64 + i1] * T.float32(2)", 99999),
        ("i0 < 1562", "A[i0 * 64 + i1] * T.float32(2)", 99968),
        ("i0 * 64 + i1 < 100000 and i0 * 64 + i1 > 0", "A[i0 * 64 + i1] * T.float32(2)", 0),
    ],
)  # fmt: skip
def test_a_difference_in_one_element_at_a_boundary(guard, value, element):
    found = verdict(SCALE, tiled(guard, value))
    assert isinstance(found, Different)
    assert found.element == f"B[{element}]" and "replayed in part" in str(found)


@pytest.mark.nightly
def test_a_difference_that_no_choice_hits_is_not_called_equal():
    """The element is at no boundary of anything; the label is all that keeps the verdict honest."""
    hidden = "T.if_then_else(i0 * i0 == 744769 and i1 == 41, T.float32(1), A[i0 * 64 + i1] * T.float32(2))"
    found = verdict(SCALE, tiled(value=hidden))
    assert isinstance(found, EqualInPart) and found.compared < found.total
    assert isinstance(verdict(SCALE, tiled(value=hidden), most_operations=10_000_000), Different)


@pytest.mark.nightly
def test_a_witness_where_parameters_moved():
    """A program that can be executed but takes too long to be run; the layout of A is another one after."""
    turned = "for i in range(100000):\n    B[i] = T.if_then_else(i == 55841, T.float32(1), A[99999 - i] * T.float32(2))"
    maps = {"A": Correspondence(lambda i: (99999 - i,))}
    assert isinstance(verdict(SCALE, turned, most_operations=10_000_000, maps=maps), Different | Unknown)
    right = turned.replace("55841", "-1")
    assert isinstance(verdict(SCALE, right, most_operations=10_000_000, maps=maps), Equal)
    assert isinstance(verdict(SCALE, right, maps=maps), EqualInPart)


def test_what_a_witness_shows_is_so():
    found = verdict(SCALE, tiled(value="A[i0 * 64 + i1] * T.float32(3)"))
    assert isinstance(found, Different)
    ((index,), value) = next(iter(found.inputs["A"].items()))
    assert found.element == f"B[{index}]"
    assert found.before == np.float32(value) * 2 and found.after == np.float32(value) * 3


MATMUL = """
for i, j, k in T.grid(1024, 1024, 1024):
    if k == 0:
        C[i, j] = T.float32(0)
    C[i, j] = C[i, j] + A[i, k] * B[k, j]
"""
BLOCKED = """
L = T.alloc_buffer((64, 64), "float32")
for f in T.parallel(256):
    for a in range(64):
        L[a, 0:64] = T.Broadcast(T.float32(0), 64)
    for k0, i1, j1, k1, i2, j2 in T.grid({k0}, 8, 8, 8, 8, 8):
        {guard}L[i1 * 8 + i2, j1 * 8 + j2] = L[i1 * 8 + i2, j1 * 8 + j2] + \
A[f // 16 * 64 + i1 * 8 + i2, k0 * 8 + k1] * B[k0 * 8 + k1, f % 16 * 64 + j1 * 8 + j2]
    for a, b in T.grid(64, 64):
        C[f // 16 * 64 + a, f % 16 * 64 + b] = L[a, b]
"""
BUDGET = 1_000_000


@pytest.mark.nightly
def test_matmul_against_tiles_fused_vectorized_and_cached():
    found = verdict(MATMUL, BLOCKED.format(k0=128, guard=""), SQUARES, most_operations=BUDGET)
    assert isinstance(found, EqualInPart) and found.total == 1 << 20 and found.compared >= 32
    assert found.how["same term"] == found.compared


@pytest.mark.nightly
def test_loops_are_not_cropped():
    """Only the last of 1024 iterations of the reduction is missing."""
    found = verdict(
        MATMUL, BLOCKED.format(k0=128, guard="if k0 * 8 + k1 < 1023:\n            "), SQUARES, most_operations=BUDGET
    )
    assert isinstance(found, Different)
    assert isinstance(verdict(MATMUL, BLOCKED.format(k0=127, guard=""), SQUARES, most_operations=BUDGET), Different)


@pytest.mark.nightly
def test_a_reduction_in_another_order_is_equal_over_the_reals_only():
    turned = MATMUL.replace("A[i, k] * B[k, j]", "A[i, 1023 - k] * B[1023 - k, j]")
    found = verdict(MATMUL, turned, SQUARES, most_operations=200_000)
    assert isinstance(found, EqualInPart) and found.which
    assert str(found).startswith(f"equal over the reals on {found.compared} of 1048576 elements")


def test_rounding_alone_is_no_difference():
    params = 'A: T.Buffer((64, 64), "float16"), B: T.Buffer((64,), "float32"), D: T.Buffer((100000,), "float16")'
    body = """
for i in range(64):
    t = T.alloc_buffer((1,), "float16")
    t[0] = T.float16(0)
    for k in range(64):
        t[0] = t[0] + A[i, {k}]
    B[i] = T.Cast("float32", t[0]) * T.float32(3)
for i in range(100000):
    D[i] = A[i % 64, 0]
"""
    found = verdict(body.format(k="k"), body.format(k="63 - k"), params)
    assert isinstance(found, EqualInPart) and len(found.which) == 1
    assert isinstance(verdict(body.format(k="k"), body.format(k="k // 2 * 2"), params), Different)


REUSED = """
t = T.alloc_buffer((16,), "float32")
for o in range(6250):
    for i in range(16):
        t[i] = A[o * 16 + i]
    for i in range(16):
        B[o * 16 + i] = t[{read}] * T.float32(2)
"""


def test_a_buffer_reused_between_tiles_holds_what_was_written_last():
    assert isinstance(verdict(SCALE, REUSED.format(read="i")), EqualInPart)
    assert isinstance(verdict(SCALE, REUSED.format(read="15 - i")), Different)
    late = """
t = T.alloc_buffer((16,), "float32")
for o in range(6250):
    for i in range(16):
        B[o * 16 + i] = t[i] * T.float32(2)
    for i in range(16):
        t[i] = A[o * 16 + i]
"""
    assert isinstance(verdict(SCALE, late), Different)


def test_of_several_writers_the_last_one_counts():
    twice = "for i in range(100000):\n    B[i] = A[i]\nfor i in range(100000):\n    B[i] = A[i] * T.float32(2)"
    assert isinstance(verdict(twice, SCALE), EqualInPart)
    other = "for i in range(100000):\n    B[i] = A[i] * T.float32(2)\nfor i in range(100000):\n    B[i] = A[i]"
    assert isinstance(verdict(other, SCALE), Different)


def test_an_allocation_is_fresh_in_each_iteration():
    """What an earlier iteration left in the block is gone: undef, which may become anything."""
    kept = """
for o in range(100000):
    t = T.alloc_buffer((1,), "float32")
    if o % 2 == 0:
        t[0] = A[o]
    B[o] = t[0]
"""
    found = verdict(kept, "for o in range(100000):\n    B[o] = A[o]")
    assert isinstance(found, EqualInPart) and found.how["undef before"] > 0
    assert f"{found.how['undef before']} scalars are undefined before" in str(found)
    assert isinstance(verdict("for o in range(100000):\n    B[o] = A[o]", kept), Different)


def test_an_element_without_writers_keeps_its_input():
    half = "for i in range(50000):\n    B[i * 2] = A[i * 2]"
    same = "for i, j in T.grid(500, 100):\n    B[i * 200 + j * 2] = A[i * 200 + j * 2]"
    found = verdict(half, same)
    assert isinstance(found, EqualInPart) and found.compared == 256
    assert isinstance(verdict(half, same + "\nB[1] = B[3]"), Different)


def test_conditions_on_data():
    clamp = "for i in range(100000):\n    B[i] = T.float32(0)\n    if A[i] > T.float32(0):\n        B[i] = A[i]"
    select = "for i in range(100000):\n    B[i] = T.Select(A[i] > T.float32(0), A[i], T.float32(0))"
    assert isinstance(verdict(clamp, select), EqualInPart)
    assert isinstance(verdict(clamp, select.replace("T.float32(0))", "T.float32(-0.0))")), Different)


def test_a_block_predicate_on_data():
    block = """
for i in range(100000):
    B[i] = T.float32(0)
    with T.sblock("positive"):
        v = T.axis.spatial(100000, i)
        T.where(A[v] > T.float32(0))
        B[v] = A[v]
"""
    select = "for i in range(100000):\n    B[i] = T.Select(A[i] > T.float32(0), A[i], T.float32({zero}))"
    assert isinstance(verdict(block, select.format(zero=0)), EqualInPart)
    assert isinstance(verdict(block, select.format(zero=1)), Different)


def test_a_view_whose_offset_moves_with_the_loop():
    shifted = """
for o in range(6250):
    V = T.decl_buffer((16,), "float32", data=B.data, elem_offset=o * 16)
    for i in range(16):
        V[{index}] = A[o * 16 + i] * T.float32(2)
"""
    assert isinstance(verdict(SCALE, shifted.format(index="i")), EqualInPart)
    assert isinstance(verdict(SCALE, shifted.format(index="15 - i")), Different)


def test_lets_hold_what_was_there_when_they_were_bound():
    swap = """
for i in range(50000):
    x: T.let = A[i]
    A[i] = B[i]
    B[i] = x
"""
    through = """
for i in range(50000):
    t = T.alloc_buffer((1,), "float32")
    t[0] = B[i]
    B[i] = A[i]
    A[i] = t[0]
"""
    assert isinstance(verdict(swap, through), EqualInPart)
    assert isinstance(verdict(swap, "for i in range(50000):\n    A[i] = B[i]\n    B[i] = A[i]"), Different)


@pytest.mark.nightly
def test_a_chain_of_stores():
    params = 'A: T.Buffer((1001,), "float32"), B: T.Buffer((1001,), "float32"), D: T.Buffer((100000,), "float32")'
    much = "\nfor i in range(100000):\n    D[i] = B[i % 1001]"
    scan = "B[0] = A[0]\nfor i in range(1000):\n    B[i + 1] = B[i] + A[i + 1]" + much
    other = (
        "for i in range(1001):\n    if i == 0:\n        B[0] = A[0]\n    if i > 0:\n        B[i] = A[i] + B[i - 1]"
        + much
    )
    found = verdict(scan, other, params)
    assert isinstance(found, EqualInPart) and found.compared == 256
    assert isinstance(verdict(scan, other.replace("i > 0", "i > 0 and i != 500"), params), Different)


def test_index_maps_and_padding():
    before = "for i in range(100000):\n    B[i] = A[i] * T.float32(2)"
    after = """
@T.prim_func
def f(A: T.Buffer((100000,), "float32"), B: T.Buffer((1563, 64), "float32")):
    for i, j in T.grid(1563, 64):
        B[i, j] = T.if_then_else(i * 64 + j < 100000, A[i * 64 + j] * T.float32(2), T.float32({padding}))
"""
    moved = {"B": Correspondence(lambda i: (i // 64, i % 64), padding=0.0)}

    def ask(padding: int) -> Verdict:
        return validate(program(before), parse_func(after.format(padding=padding)), maps=moved,
                        most_operations=20_000).verdict  # fmt: skip

    found = ask(0)
    assert isinstance(found, EqualInPart) and found.total == 100000
    assert not isinstance(ask(1), EqualInPart)


def test_undefined_behaviour_that_is_met():
    beyond = "for i in range(100001):\n    B[i] = A[i]"
    copy = "for i in range(100000):\n    B[i] = A[i]"
    shifted = "for i in range(100000):\n    B[i] = A[i + 1]"
    found = verdict(copy, shifted)
    assert isinstance(found, Different)
    found = verdict(shifted, copy)
    assert isinstance(found, Equal) and found.vacuous  # the last element is a corner
    assert isinstance(verdict(copy, beyond), EqualInPart)  # no chosen element depends on what is beyond: not seen


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("for i in range(100000):\n    B[T.Cast('int32', A[i])] = A[i]", "depends on data"),
        ("for i in range(100000):\n    B[i] = A[T.Cast('int32', A[i])]", "depends on data"),
        ("for i in range(100000):\n    for j in range(T.Cast('int32', A[i])):\n        B[i] = A[i]", "depends on data"),
        ("for i in range(100000):\n    T.evaluate(T.call_extern('int32', 'g', i))\n    B[i] = A[i]", "opaque"),
        ("for i in range(100000):\n    B[0] = A[i] - B[0] * A[i]", "too many statement instances"),
    ],
)
def test_what_cannot_be_evaluated_on_demand(body, reason):
    found = verdict(body, body)
    assert isinstance(found, Unknown) and reason in found.reason


def test_calls_in_annotations_are_not_executed():
    noted = """
for i in range(100000):
    with T.sblock("scale"):
        v = T.axis.spatial(100000, i)
        T.sblock_attr({"schedule": {"tile": 4}})
        B[v] = A[v] * T.float32(2)
"""
    assert isinstance(verdict(SCALE, noted), EqualInPart)


def test_shapes_beyond_any_memory():
    huge = 'A: T.Buffer((65536, 65536), "float32"), B: T.Buffer((65536, 65536), "float32")'
    transpose = "for i, j in T.grid(65536, 65536):\n    B[i, j] = A[j, i]"
    fused = "for f in range(T.int64(4294967296)):\n    B[f % T.int64(65536), f // T.int64(65536)] = A[{a}, {b}]"
    q, r = "f // T.int64(65536)", "f % T.int64(65536)"
    found = verdict(transpose, fused.format(a=q, b=r), huge)
    assert isinstance(found, EqualInPart) and found.total == 1 << 32
    assert isinstance(verdict(transpose, fused.format(a=r, b=q), huge), Different)
