"""From tensor expressions to programs: goldens, and mistakes."""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir import Schedule, script, te
from verified_tir.script import tir as T
from verified_tir.semantics.interpreter import run


def body(*args: object) -> str:
    return "\n".join(script(te.create_prim_func(args)).split("\n")[4:])


def test_elementwise() -> None:
    n = te.var("n")
    A = te.placeholder((n, 4), name="A", dtype="int32")
    B = te.compute((n, 4), lambda i, j: A[i, j] * 2 + j, name="B")
    assert script(te.create_prim_func([A, B])).split("\n")[2:] == [
        "@T.prim_func(s_tir=True)",
        'def main(A: T.Buffer(("n", 4), "int32"), B: T.Buffer((n, 4), "int32")):',
        "    for i, j in T.grid(n, 4):",
        '        with T.sblock("B"):',
        '            v_i, v_j = T.axis.remap("SS", [i, j])',
        "            B[v_i, v_j] = A[v_i, v_j] * 2 + v_j",
    ]


def test_a_reduction_begins_with_the_identity() -> None:
    A = te.placeholder((8, 4), name="A")
    k = te.reduce_axis((1, 4), "k")
    B = te.compute((8,), lambda i: te.sum(A[i, k], axis=k, where=A[i, k] > 0.0, init=1.0), name="B")
    assert (
        body(A, B)
        == """\
    for i in range(8):
        for k in range(1, 4):
            with T.sblock("B"):
                v_i, v_k = T.axis.remap("SR", [i, k])
                with T.init():
                    B[v_i] = T.float32(1.0)
                if A[v_i, v_k] > T.float32(0.0):
                    B[v_i] = B[v_i] + A[v_i, v_k]"""
    )


@pytest.mark.parametrize(
    ("reducer", "expected"),
    [(te.sum, np.add.reduce), (te.prod, np.multiply.reduce), (te.max, np.maximum.reduce), (te.min, np.minimum.reduce)],
)
@pytest.mark.parametrize("dtype", ["float32", "int32", "int8", "uint8", "float64"])
def test_reducers(reducer: te.CommReducer, expected: np.ufunc, dtype: str) -> None:
    A = te.placeholder((3, 4), dtype, name="A")
    k = te.reduce_axis((0, 4), "k")
    B = te.compute((3,), lambda i: reducer(A[i, k], axis=k), name="B")
    a = np.arange(12).reshape(3, 4).astype(dtype) % 5
    out = run(te.create_prim_func([A, B]), {"A": a, "B": np.zeros(3, dtype)})
    np.testing.assert_array_equal(out.arrays["B"], expected(a, axis=1).astype(dtype))


@pytest.mark.nightly
def test_a_reducer_of_tuples_stores_all_values_at_once() -> None:
    def first_of_greatest(x: tuple, y: tuple) -> tuple:
        keep = T.Or(x[1] > y[1], T.And(x[1].equal(y[1]), x[0] < y[0]))
        return T.Select(keep, x[0], y[0]), T.Select(keep, x[1], y[1])

    argmax = te.comm_reducer(first_of_greatest, lambda t0, t1: (te.const(-1, t0), te.min_value(t1)), name="argmax")
    A = te.placeholder((3, 5), name="A")
    k = te.reduce_axis((0, 5), "k")
    where, value = te.compute((3,), lambda i: argmax((k, A[i, k]), axis=k), name="B")
    assert (where.name, value.name, where.dtype) == ("B_v0", "B_v1", "int32")
    a = np.array([[1, 5, 5, 2, 0], [-1, -2, -3, -1, -5], [7, 6, 5, 4, 3]], np.float32)
    func = te.create_prim_func([A, where, value])
    Schedule(func)
    out = run(func, {"A": a, "B_v0": np.zeros(3, np.int32), "B_v1": np.zeros(3, np.float32)})
    assert out.arrays["B_v0"].tolist() == [1, 0, 0]
    assert out.arrays["B_v1"].tolist() == [5, -1, 7]


def test_what_is_not_listed_is_local() -> None:
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((8,), lambda i: B[i] * B[7 - i], name="C")
    assert "B = T.alloc_buffer" in script(te.create_prim_func([A, C]))
    assert "B: T.Buffer" in script(te.create_prim_func([A, B, C]))


def test_blocks_of_one_name_are_numbered() -> None:
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((8,), lambda i: B[i] * 2.0, name="B")
    assert Schedule(te.create_prim_func([A, C])).blocks == ["B", "B_1"]


def test_indices_in_steps_and_by_name() -> None:
    A = te.placeholder((2, 3), name="A")
    B = te.compute((2, 3), lambda *i: A[i[0]][i[1]] + A(*i), name="B")
    assert "B[v_i0, v_i1] = A[v_i0, v_i1] + A[v_i0, v_i1]" in body(A, B)


def test_a_scalar_parameter_and_a_tensor_without_dimensions() -> None:
    x = te.var("x", "float32")
    A = te.placeholder((4,), name="A")
    k = te.reduce_axis((0, 4), "k")
    B = te.compute((), lambda: te.sum(A[k] * x, axis=k), name="B")
    out = run(te.create_prim_func([x, A, B]), {"x": 2.0, "A": np.ones(4, np.float32), "B": np.zeros((), np.float32)})
    assert out.arrays["B"].tolist() == 8.0


A = te.placeholder((4, 4), name="A")
k = te.reduce_axis((0, 4), "k")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: te.compute((4,), lambda i, j: A[i, j]), "dimensions: the function takes 2 indices"),
        (lambda: te.compute((4,), lambda i: A[i, i, i]), "A has 2 dimensions and is given 3 indices"),
        (lambda: te.compute((4,), lambda i: A[i, 0.5]), "indexed by integers"),
        (lambda: te.compute((4,), lambda i: "x"), "an element is an expression or a reduction, not str"),
        (lambda: te.compute((4,), lambda i: te.sum(A[i, k], axis=k) + 1), "stands alone at the top of a compute"),
        (lambda: te.compute((4,), lambda i: 1.0 + te.sum(A[i, k], axis=k)), "stands alone at the top of a compute"),
        (lambda: te.compute((4,), lambda i: A[i, 0] + te.sum(A[i, k], axis=k)), "stands alone at the top"),
        (lambda: te.compute((4,), lambda i: te.sum(A[i, k], axis=i)), "i is not a reduction axis; te.reduce_axis"),
        (lambda: te.compute((4,), lambda i: te.sum(A[i, k], axis=[k, k])), "reduces over one axis twice"),
        (lambda: te.compute(("n",), lambda i: 1.0), "is integers and variables"),
        (lambda: te.reduce_axis((0, 4, 1)), "takes the pair"),
        (lambda: te.reduce_axis((0.0, 4.0)), "runs over integers"),
        (lambda: te.comm_reducer(lambda x: x, lambda t: 0), "takes two arguments"),
        (lambda: te.create_prim_func([A]), "computes nothing"),
        (lambda: te.create_prim_func([te.compute((4,), lambda i: A[i, i], name="D")]), "D reads A, which is not among"),
        (
            lambda: te.create_prim_func([A, te.compute((4,), lambda i: A[i, k], name="D")]),
            "D uses k, which is not an axis",
        ),
        (lambda: te.create_schedule(A.op), "takes operations"),
    ],
)
def test_mistakes(make: object, message: str) -> None:
    with pytest.raises(te.TEError, match=message.replace("(", "\\(")):
        make()  # type: ignore[operator]
