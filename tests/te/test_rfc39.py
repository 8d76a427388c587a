"""The tensor-expression examples of RFC 39, imports aside as they are written there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.te.te_support import same_result
from verified_tir import Refuted, script, te
from verified_tir.ir.expr import Var


def test_nhwc_to_nchwc() -> None:
    A = te.placeholder((2, 3, 5, 8), name="A")
    B = te.compute(A.shape, lambda n, h, w, c: A[n, h, w, c], name="B")
    s = te.create_schedule(B.op)

    def nhwc_to_nchwc(n, h, w, c):  # type: ignore[no-untyped-def]
        return [n, c // 4, h, w, c % 4]

    transformed_nchwc_axes = s[B].transform_layout(nhwc_to_nchwc)
    assert len(transformed_nchwc_axes) == 5

    B_equivalent = te.compute(
        [A.shape[0], A.shape[3] // 4, A.shape[1], A.shape[2], 4],
        lambda n, c_outer, h, w, c_inner: A[n, h, w, 4 * c_outer + c_inner],
        name="B",
    )
    assert (
        same_result(s, [A, B])
        == """\
# from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def main(A: T.Buffer((2, 3, 5, 8), "float32"), B: T.Buffer((2, 2, 3, 5, 4), "float32")):
    for n, c_0, h, w, c_1 in T.grid(2, 2, 3, 5, 4):
        with T.sblock("B"):
            B[n, c_0, h, w, c_1] = A[n, h, w, 4 * c_0 + c_1]"""
    )
    equivalent = script(te.create_prim_func([A, B_equivalent]))
    assert "B[v_n, v_c_outer, v_h, v_w, v_c_inner] = A[v_n, v_h, v_w, 4 * v_c_outer + v_c_inner]" in equivalent


@pytest.mark.parametrize(
    ("layout", "shape"),
    [
        (lambda m, n, p, q: [m, n, p, q], "(384,)"),
        (lambda m, n, p, q: [m, n, te.AXIS_SEPARATOR, p, q], "(6, 64)"),
        (lambda m, n, p, q: [m, te.AXIS_SEPARATOR, n, p, te.AXIS_SEPARATOR, q], "(2, 24, 8)"),
        (lambda m, n, p, q: [m, q // 4, n, te.AXIS_SEPARATOR, p, q % 4], "(12, 32)"),
    ],
)
def test_axis_separators_say_which_axes_the_flattened_buffer_has(layout: object, shape: str) -> None:
    M, N, P, Q = 2, 3, 8, 8
    A = te.placeholder((M, N, P, Q), name="A")
    B = te.compute(shape=(M, N, P, Q), fcompute=lambda *i: A(*i) + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].transform_layout(layout)
    same_result(s, [A, B])
    text = script(te.lower(s, [A, B]).after)
    physical = [line for line in text.split("\n") if "data=B.data" in line]
    assert physical and f"T.decl_buffer({shape}" in physical[0], text


@pytest.mark.nightly
def test_loops_follow_the_layout_of_what_is_computed() -> None:
    A = te.placeholder(shape=[16, 64, 128], name="A")
    B = te.compute(A.shape, lambda i, j, k: 2 * A[i, j, k], name="B")
    s = te.create_schedule(B.op)

    assert s[A].transform_layout(lambda i, j, k: [i * 64 + j, k // 4, k % 4]) == []
    i_outer, jk_merged, i_inner = s[B].transform_layout(lambda i, j, k: [i // 4, 128 * j + k, i % 4])
    s[B].reorder(i_outer, i_inner, jk_merged)
    assert (
        same_result(s, [A, B])
        == """\
# from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def main(A: T.Buffer((1024, 32, 4), "float32"), B: T.Buffer((4, 8192, 4), "float32")):
    for i_0, i_1, axis1 in T.grid(4, 4, 8192):
        with T.sblock("B"):
            B[i_0, axis1, i_1] = T.float32(2.0) * A[(4 * i_0 + i_1) * 64 + axis1 // 128, axis1 % 128 // 4, axis1 % 4]"""
    )


def test_a_transposed_buffer() -> None:
    y = te.placeholder((6, 8), name="y")
    x = te.compute((6, 8), lambda i, j: y[i, j] * 3.0, name="x")
    s = te.create_schedule(x.op)
    s[x].transform_layout(lambda i, j: [j, i])
    same_result(s, [y, x])
    assert "x_1[6 * j + i] = y_1[8 * i + j]" in script(te.lower(s, [y, x]).after)


def test_other_indices_stay_as_they_are() -> None:
    """A function of any number of indices, as the RFC prefers: it changes the last one."""
    A = te.placeholder((3, 4, 8), name="A")
    B = te.compute(A.shape, lambda *i: A(*i) * 2.0, name="B")
    s = te.create_schedule(B.op)
    axes = s[B].transform_layout(lambda *i: [*i[:-1], i[-1] // 4, i[-1] % 4])
    assert len(axes) == 4
    same_result(s, [A, B])


def test_padding_of_what_is_computed() -> None:
    A = te.placeholder((14,), name="A")
    B = te.compute((14,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    assert len(s[B].transform_layout(lambda i: [i // 4, i % 4], pad_value=0.0)) == 2
    text = same_result(s, [A, B])
    assert "B: T.Buffer((4, 4)" in text and "B_padding" in text


def test_a_map_that_loses_elements_is_refused_where_it_was_written() -> None:
    A = te.placeholder((16,), name="A")
    B = te.compute((16,), lambda i: A[i], name="B")
    s = te.create_schedule(B.op)
    s[B].transform_layout(lambda i: [i // 4])
    with pytest.raises(
        te.TEError, match=r"s\[B\]\.transform_layout\(lambda i: \[i // 4\]\) \(test_rfc39.py:\d+\) is refused"
    ):
        te.lower(s, [A, B])


# -- what can be done with the axes that transform_layout returns ------------------------------------------------------


def rfc_example() -> tuple[te.Tensor, te.Tensor, te.TESchedule, list[Var]]:
    """The RFC's example: an input that moves, and a result whose loops follow."""
    A = te.placeholder(shape=[16, 64, 128], name="A")
    B = te.compute(A.shape, lambda i, j, k: 2 * A[i, j, k], name="B")
    s = te.create_schedule(B.op)
    s[A].transform_layout(lambda i, j, k: [i * 64 + j, k // 4, k % 4])
    return A, B, s, s[B].transform_layout(lambda i, j, k: [i // 4, 128 * j + k, i % 4])


def nest(s: te.TESchedule, args: list[te.Tensor]) -> str:
    """The loops and the block, without the head of the function."""
    return script(te.lower(s, args, simple_mode=True).after).split("):\n", 1)[1]


@pytest.mark.parametrize(
    ("directive", "loops"),
    [
        (lambda b, o, m, i: b.split(o, 2), "for i_0_0, i_0_1, axis1, i_1 in T.grid(2, 2, 8192, 4):"),
        (lambda b, o, m, i: b.split(m, nparts=32), "for i_0, axis1_0, axis1_1, i_1 in T.grid(4, 32, 256, 4):"),
        (lambda b, o, m, i: b.fuse(o, m), "for i_0_axis1_fused, i_1 in T.grid(32768, 4):"),
        (lambda b, o, m, i: b.fuse(o, m, i), "for i_0_axis1_i_1_fused in range(131072):"),
        (lambda b, o, m, i: b.tile(o, m, 2, 16), "for i_0_0, axis1_0, i_0_1, axis1_1, i_1 in T.grid(2, 512, 2, 16, 4)"),
        (lambda b, o, m, i: b.reorder(i, o), "for i_1, axis1, i_0 in T.grid(4, 8192, 4):"),
    ],
)
def test_returned_axes_are_axes_like_others(directive: Callable[..., object], loops: str) -> None:
    A, B, s, axes = rfc_example()
    directive(s[B], *axes)
    assert nest(s, [A, B]).split("\n")[0].strip().startswith(loops)


def test_a_factor_that_does_not_divide() -> None:
    A = te.placeholder((12, 10), name="A")
    B = te.compute(A.shape, lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    j, i_outer, i_inner = s[B].transform_layout(lambda i, j: [j, i // 4, i % 4])
    s[B].split(j, 3)
    s[B].vectorize(i_inner)
    s[B].parallel(i_outer)
    assert "if j_0 * 3 + j_1 < 10" in same_result(s, [A, B])


def test_further_transformations_map_the_layout_so_far() -> None:
    A = te.placeholder((12, 8), name="A")
    B = te.compute(A.shape, lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[A].transform_layout(lambda i, j: [i // 4, i % 4, j])
    s[A].transform_layout(lambda a, b, c: [c, a, b])
    i_outer, i_inner, j = s[B].transform_layout(lambda i, j: [i // 4, i % 4, j])
    s[B].fuse(i_outer, i_inner)
    j, a, b = s[B].transform_layout(lambda a, b, j: [j, a, b])
    s[B].split(j, 4)
    s[B].reorder(b, a)
    assert (
        same_result(s, [A, B])
        == """\
# from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def main(A: T.Buffer((8, 3, 4), "float32"), B: T.Buffer((8, 3, 4), "float32")):
    for j_0, j_1, i_1, i_0 in T.grid(2, 4, 4, 3):
        with T.sblock("B"):
            B[j_0 * 4 + j_1, i_0, i_1] = A[j_0 * 4 + j_1, i_0, i_1] + T.float32(1.0)"""
    )


@pytest.mark.sample(2)
@pytest.mark.parametrize("before", ["split", "fuse", "reorder", "tile"])
def test_loops_over_the_elements_are_replaced_whatever_they_were_made_into(before: str) -> None:
    def program(first: str) -> str:
        A = te.placeholder((12, 8), name="A")
        B = te.compute(A.shape, lambda i, j: A[i, j] + 1.0, name="B")
        s = te.create_schedule(B.op)
        i, j = B.op.axis
        match first:
            case "split":
                s[B].split(i, 5)
            case "fuse":
                s[B].split(s[B].fuse(i, j), 7)
            case "reorder":
                s[B].reorder(j, i)
            case "tile":
                s[B].tile(i, j, 4, 4)
        _, i_outer, _ = s[B].transform_layout(lambda i, j: [j, i // 4, i % 4])
        s[B].split(i_outer, 2)
        return same_result(s, [A, B])

    assert program(before) == program("")


def test_a_reduction_keeps_its_loops_and_their_places() -> None:
    A = te.placeholder((12, 9), "int32", name="A")
    k = te.reduce_axis((0, 9), "k")
    B = te.compute((12, 4), lambda i, j: te.sum(A[i, k] * j, axis=k), name="B")
    s = te.create_schedule(B.op)
    k_outer, _ = s[B].split(k, 4)
    s[B].split(B.op.axis[0], 5)
    s[B].reorder(k_outer, *s[B].op.axis[1:])
    s[B].transform_layout(lambda i, j: [j, i // 4, i % 4])
    assert (
        same_result(s, [A, B]).split("):\n", 1)[1]
        == """\
    for j, i_0, i_1, k_0, k_1 in T.grid(4, 3, 4, 3, 4):
        if k_0 * 4 + k_1 < 9:
            with T.sblock("B"):
                if k_0 * 4 + k_1 == 0:
                    B[j, i_0, i_1] = 0
                B[j, i_0, i_1] = B[j, i_0, i_1] + A[4 * i_0 + i_1, k_0 * 4 + k_1] * j"""
    )


def test_a_reduction_that_comes_first_stays_first() -> None:
    A = te.placeholder((12, 9), "int32", name="A")
    k = te.reduce_axis((0, 9), "k")
    B = te.compute((12,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    s[B].reorder(k, B.op.axis[0])
    s[B].transform_layout(lambda i: [i // 4, i % 4])
    assert "for k, i_0, i_1 in T.grid(9, 3, 4):" in same_result(s, [A, B])


def test_another_stage_is_computed_at_a_returned_axis() -> None:
    A = te.placeholder((8, 12), name="A")
    B = te.compute(A.shape, lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute(A.shape, lambda i, j: B[i, j] * 2.0, name="C")
    s = te.create_schedule(C.op)
    j, _ = s[C].transform_layout(lambda i, j: [j, i])
    s[B].compute_at(s[C], j)
    assert "B = T.alloc_buffer((8, 1)" in same_result(s, [A, C])


def marked(B: te.Tensor, s: te.TESchedule) -> None:
    s[B].vectorize(B.op.axis[1])


def fused_with_a_reduction(B: te.Tensor, s: te.TESchedule) -> None:
    s[B].fuse(B.op.axis[1], B.op.reduce_axis[0])


def place_of_another_stage(B: te.Tensor, s: te.TESchedule) -> None:
    (A2,) = B.op.inputs
    s[A2].compute_at(s[B], B.op.axis[0])


def partial_results_later(B: te.Tensor, s: te.TESchedule) -> None:
    s[B].transform_layout(lambda i, j: [j, i])
    s.rfactor(B, B.op.reduce_axis[0])


@pytest.mark.parametrize(
    ("before", "words"),
    [
        (marked, r"s\[B\]\.vectorize\(j\) .* is about a loop that transform_layout replaces; call vectorize after it"),
        (fused_with_a_reduction, "j_k_fused is fused with a reduction; fuse after transform_layout"),
        (place_of_another_stage, r"s\[A2\]\.compute_at\(.* is about a loop that transform_layout replaces"),
        (partial_results_later, r"rfactor\(B\) comes before s\[B\]\.transform_layout"),
    ],
)
def test_what_rests_on_a_loop_that_goes_is_refused(
    before: Callable[[te.Tensor, te.TESchedule], None], words: str
) -> None:
    A = te.placeholder((8, 8), name="A")
    A2 = te.compute(A.shape, lambda i, j: A[i, j] + 1.0, name="A2")
    k = te.reduce_axis((0, 8), "k")
    B = te.compute((8, 8), lambda i, j: te.sum(A2[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    with pytest.raises(te.TEError, match=words):
        before(B, s)
        s[B].transform_layout(lambda i, j: [j, i])


# -- the attribute ----------------------------------------------------------------------------------------------------


def test_layouts_in_the_attribute_are_applied_and_loops_do_not_follow() -> None:
    A = te.placeholder((8, 8), name="A")
    B = te.compute((8, 8), lambda i, j: A[i, j] + 1.0, name="B")
    maps = {B: [lambda i, j: [j, i], lambda i, j: [i, j // 4, te.AXIS_SEPARATOR, j % 4]], "A": "lambda i, j: [j, i]"}
    attrs = {"layout_transform_map": maps, "tir.noalias": True}
    text = script(te.create_prim_func([A, B], attrs=attrs))
    assert '"B": ["lambda i, j: [j, i]", "lambda i, j: [i, j // 4, AXIS_SEPARATOR, j % 4]"]' in text
    s = te.create_schedule(B.op)
    assert (
        script(te.lower(s, [A, B], simple_mode=True, attrs=attrs).after)
        == """\
# from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 2, 4), "float32", axis_separators=[2])):
    T.func_attr({"tir.noalias": True})
    for i, j in T.grid(8, 8):
        with T.sblock("B"):
            B[j, i // 4, i % 4] = A[j, i] + T.float32(1.0)"""
    )
    assert "B_1[2 * j + i // 4, i % 4] = A_1[8 * j + i]" in script(te.lower(s, [A, B], attrs=attrs).after)


def test_the_attribute_is_applied_after_the_directives() -> None:
    A = te.placeholder((8, 8), name="A")
    B = te.compute((8, 8), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].transform_layout(lambda i, j: [i // 2, j, i % 2])
    attrs = {"layout_transform_map": {"B": "lambda a, b, c: [c, a, b]"}}
    text = script(te.lower(s, [A, B], simple_mode=True, attrs=attrs).after)
    assert "B[i_1, i_0, j] = A[2 * i_0 + i_1, j]" in text
    with pytest.raises(Refuted, match="no two elements of B are mapped to the same place"):
        te.lower(s, [A, B], attrs={"layout_transform_map": {"B": "lambda a, b, c: [c, a]"}})


@pytest.mark.parametrize(
    ("attrs", "words"),
    [
        ({"layout_transform_map": "lambda i: [i]"}, "maps tensors to index maps or lists of these"),
        ({"layout_transform_map": {3: "lambda i: [i]"}}, "the keys of layout_transform_map are tensors or their names"),
        ({"layout_transform_map": {"B": 3}}, "the layout of B is a function of its indices, not 3"),
        ({"layout_transform_map": {"B": lambda i: [i]}}, "how many dimensions B has is not known here"),
        ({"tir.noalias": {}}, "is a number, a string, or a list of these"),
    ],
)
def test_attributes_that_make_no_sense(attrs: dict[str, object], words: str) -> None:
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i], name="B")
    with pytest.raises(te.TEError, match=words):
        te.create_prim_func([A, B], attrs=attrs)
