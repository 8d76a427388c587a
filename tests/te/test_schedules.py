"""Schedules of tensors as people write them: each lowers to a theorem, and its code gives the definition's result."""

from __future__ import annotations

import pytest

from tests.te.te_support import same_result
from verified_tir import te


def matmul(n: int = 16) -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    A, B = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), "k")
    return A, B, te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")


MATMUL = """\
    for ax0_0 in T.parallel(2):
        for ax1_0 in range(2):
            C_global = T.alloc_buffer((8, 8), "float32")
            for k_0, i in T.grid(4, 8):
                for k_1 in T.unroll(4):
                    for j in T.vectorized(8):
                        with T.sblock("C"):
                            if k_0 * 4 + k_1 == 0:
                                C_global[i, j] = T.float32(0.0)
                            C_global[i, j] = C_global[i, j] + A[i + 8 * ax0_0, k_0 * 4 + k_1] * B[k_0 * 4 + k_1, \
j + 8 * ax1_0]
            for ax0_1, ax1_1 in T.grid(8, 8):
                with T.sblock("C_global_back"):
                    C[ax0_0 * 8 + ax0_1, ax1_0 * 8 + ax1_1] = C_global[ax0_1, ax1_1]"""


@pytest.mark.nightly
def test_matmul_in_a_local_tile() -> None:
    A, B, C = matmul()
    s = te.create_schedule(C.op)
    CC = s.cache_write(C, "global")
    mo, no, *_ = s[C].tile(C.op.axis[0], C.op.axis[1], 8, 8)
    s[CC].compute_at(s[C], no)
    mc, nc = s[CC].op.axis
    (kaxis,) = s[CC].op.reduce_axis
    ko, ki = s[CC].split(kaxis, factor=4)
    s[CC].reorder(ko, mc, ki, nc)
    s[CC].vectorize(nc)
    s[CC].unroll(ki)
    s[C].parallel(mo)
    assert same_result(s, [A, B, C]).split("\n", 4)[4] == MATMUL


def test_a_packed_operand() -> None:
    A, B, C = matmul()
    s = te.create_schedule(C.op)
    s[B].transform_layout(lambda k, j: [j // 8, k, j % 8])
    i, j = C.op.axis
    jo, ji = s[C].split(j, 8)
    s[C].reorder(jo, i, C.op.reduce_axis[0], ji)
    s[C].vectorize(ji)
    assert "B: T.Buffer((2, 16, 8)" in same_result(s, [A, B, C])


@pytest.mark.nightly
def test_blur_in_tiles() -> None:
    A = te.placeholder((18, 18), name="A")
    bx = te.compute((18, 16), lambda y, x: A[y, x] + A[y, x + 1] + A[y, x + 2], name="bx")
    by = te.compute((16, 16), lambda y, x: bx[y, x] + bx[y + 1, x] + bx[y + 2, x], name="by")
    s = te.create_schedule(by.op)
    yo, xo, _, xi = s[by].tile(by.op.axis[0], by.op.axis[1], 4, 8)
    s[bx].compute_at(s[by], xo)
    s[bx].vectorize(s[bx].split(s[bx].op.axis[1], 4)[1])
    s[by].vectorize(xi)
    s[by].parallel(yo)
    assert "bx = T.alloc_buffer((6, 8)" in same_result(s, [A, by])


@pytest.mark.nightly
def test_a_convolution_with_inlined_padding_in_channels_of_four() -> None:
    x, w = te.placeholder((1, 4, 6, 6), name="X"), te.placeholder((8, 4, 3, 3), name="W")
    inside = lambda h, v: te.all(h >= 1, h < 7, v >= 1, v < 7)  # noqa: E731
    pad = te.compute(
        (1, 4, 8, 8), lambda n, c, h, v: te.if_then_else(inside(h, v), x[n, c, h - 1, v - 1], 0.0), name="pad"
    )
    ci, kh, kw = te.reduce_axis((0, 4), "ci"), te.reduce_axis((0, 3), "kh"), te.reduce_axis((0, 3), "kw")
    conv = te.compute(
        (1, 8, 6, 6),
        lambda n, co, h, v: te.sum(pad[n, ci, h + kh, v + kw] * w[co, ci, kh, kw], axis=[ci, kh, kw]),
        name="conv",
    )
    relu = te.compute(conv.shape, lambda *i: te.if_then_else(conv(*i) > 0.0, conv(*i), 0.0), name="relu")
    s = te.create_schedule(relu.op)
    s[pad].compute_inline()
    s[w].transform_layout(lambda o, i, h, v: [o // 4, i, h, v, o % 4])
    _, _, h, _, ci4 = s[relu].transform_layout(lambda n, c, h, v: [n, c // 4, h, v, c % 4])
    s[conv].transform_layout(lambda n, c, h, v: [n, c // 4, h, te.AXIS_SEPARATOR, v, c % 4])
    s[conv].compute_at(s[relu], h)
    s[relu].vectorize(ci4)
    text = same_result(s, [x, w, relu])
    assert "pad" not in text and "relu: T.Buffer((1, 2, 6, 6, 4)" in text


@pytest.mark.nightly
def test_a_sum_in_parts() -> None:
    A = te.placeholder((12, 64), "int32", name="A")
    k = te.reduce_axis((0, 64), "k")
    B = te.compute((12,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    _, ki = s[B].split(k, factor=16)
    BF = s.rfactor(B, ki)
    assert [e.value for e in BF.shape] == [16, 12]
    io, _ = s[B].split(B.op.axis[0], 4)
    s[BF].compute_at(s[B], io)
    assert "B_rf = T.alloc_buffer((16, 4)" in same_result(s, [A, B])


@pytest.mark.nightly
def test_a_sum_of_floats_in_parts_needs_the_word() -> None:
    A = te.placeholder((4, 8), name="A")
    k = te.reduce_axis((0, 8), "k")
    B = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    s.rfactor(B, k)
    with pytest.raises(te.TEError, match=r"s.rfactor\(B, k, 0\) \(test_schedules.py:\d+\) is refused.*reassociate"):
        te.lower(s, [A, B])
    s = te.create_schedule(B.op)
    s.rfactor(B, k, reassociate=True)
    same_result(s, [A, B])
    assert te.lower(s, [A, B]).reassociated


@pytest.mark.nightly
def test_softmax_row_by_row() -> None:
    A = te.placeholder((4, 8), name="A")
    k, k2 = te.reduce_axis((0, 8), "k"), te.reduce_axis((0, 8), "k2")
    m = te.compute((4,), lambda i: te.max(A[i, k], axis=k), name="m")
    e = te.compute((4, 8), lambda i, j: te.exp(A[i, j] - m[i]), name="e")
    z = te.compute((4,), lambda i: te.sum(e[i, k2], axis=k2), name="z")
    o = te.compute((4, 8), lambda i, j: e[i, j] / z[i], name="o")
    s = te.create_schedule(o.op)
    for stage in (z, e, m):
        s[stage].compute_at(s[o], o.op.axis[0])
    s[o].parallel(o.op.axis[0])
    assert "for i in T.parallel(4):\n        m = " in same_result(s, [A, o])


def test_a_cached_input_of_any_length() -> None:
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2.0, name="B")
    s = te.create_schedule(B.op)
    AL = s.cache_read(A, "local", [B])
    io, _ = s[B].split(B.op.axis[0], factor=8)
    s[AL].compute_at(s[B], io)
    s[AL].unroll(s[AL].op.axis[0])
    same_result(s, [A, B], n=13)


def test_fused_and_bound_to_threads() -> None:
    A = te.placeholder((8, 6), name="A")
    B = te.compute((8, 6), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    block, thread = s[B].split(s[B].fuse(*B.op.axis), nparts=6)
    s[B].bind(block, te.thread_axis("blockIdx.x"))
    s[B].bind(thread, te.thread_axis((0, 8), "threadIdx.x"))
    text = same_result(s, [A, B])
    assert 'T.thread_binding(6, thread="blockIdx.x")' in text and 'T.thread_binding(8, thread="threadIdx.x")' in text


def test_scope_of_an_intermediate() -> None:
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((8,), lambda i: B[i] * 2.0, name="C")
    s = te.create_schedule(C.op)
    s[B].set_scope("local")
    assert 'B = T.alloc_buffer((8,), "float32", scope="local")' in same_result(s, [A, C])


def test_axes_of_one_iteration_go_away_and_may_still_be_named() -> None:
    A = te.placeholder((4, 8), name="A")
    B = te.compute((4, 8), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((4, 8), lambda i, j: B[i, j] * 2.0, name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    i, j = s[B].op.axis
    io, ii = s[B].split(i, 2)
    s[B].unroll(ii)
    s[B].reorder(j, io)
    s[B].vectorize(s[B].split(j, 4)[1])
    same_result(s, [A, C])


def test_a_race_is_refused_where_it_was_asked_for() -> None:
    A, B, C = matmul()
    s = te.create_schedule(C.op)
    s[C].parallel(C.op.reduce_axis[0])
    with pytest.raises(te.TEError, match=r"s\[C\].parallel\(k\) \(test_schedules.py:\d+\) is refused") as refused:
        te.lower(s, [A, B, C])
    assert refused.value.__cause__.confirmed  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("directive", "message"),
    [
        (lambda s, C: s[C].split(C.op.axis[0], 0), "takes a positive number, not 0"),
        (lambda s, C: s[C].split(C.op.axis[0]), "takes either factor or nparts"),
        (lambda s, C: s[C].split(C.op.axis[0], 2, 2), "takes either factor or nparts"),
        (
            lambda s, C: (s[C].split(C.op.axis[0], 2), s[C].vectorize(C.op.axis[0])),
            "i is not a loop of C, or was split",
        ),
        (lambda s, C: s[C].reorder(C.op.axis[0], C.op.axis[0]), "lists an axis twice"),
        (
            lambda s, C: s[C].fuse(C.op.axis[0], C.op.reduce_axis[0]),
            "axes that follow each other; the loops are i, j, k",
        ),
        (lambda s, C: s[C].compute_inline(), "is a result of the schedule"),
        (lambda s, C: s[te.placeholder((4,), name="Z")], "Z has no stage"),
        (lambda s, C: (s[C].split(C.op.axis[0], 2), s.cache_write(C, "local")), "comes before other directives"),
        (lambda s, C: s.rfactor(C, C.op.axis[0], 5), "factor_axis is 5"),
    ],
)
def test_mistakes_are_told_at_once(directive: object, message: str) -> None:
    *_, C = matmul()
    with pytest.raises(te.TEError, match=message):
        directive(te.create_schedule(C.op), C)  # type: ignore[operator]


def test_a_schedule_can_go_on_with_primitives() -> None:
    A, B, C = matmul()
    s = te.create_schedule(C.op)
    s[C].split(C.op.axis[1], 8)
    further = te.to_schedule(s, [A, B, C])
    further.decompose_reduction("C", further.get_loops("C")[-1])
    assert further.blocks == ["C_init", "C"]
