"""The tensor-expression examples of RFC 39, imports aside as they are written there."""

from __future__ import annotations

import pytest

from tests.te.te_support import same_result
from verified_tir import script, te


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


def test_loops_that_were_changed_cannot_follow_any_more() -> None:
    A = te.placeholder((16,), name="A")
    B = te.compute((16,), lambda i: A[i], name="B")
    s = te.create_schedule(B.op)
    s[B].split(B.op.axis[0], 4)
    with pytest.raises(te.TEError, match="call it before split"):
        s[B].transform_layout(lambda i: [i // 4, i % 4])
