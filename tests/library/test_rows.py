"""Softmax, layer normalisation, sums and maxima of rows: results, theorems, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir.library import layer_norm, row_max, row_sum, softmax
from verified_tir.library.kernel import machine
from verified_tir.library.rows import layer_norm_kernel, row_max_kernel, row_sum_kernel, softmax_kernel
from verified_tir.semantics.interpreter import run

LATE = pytest.mark.nightly
LENGTHS = [(5, 64), (2, 3, 130), (7, 1), (33,), (0, 8)]
SHAPES = [(3, 37), (37,), (0, 37), *(pytest.param(shape, marks=LATE) for shape in LENGTHS)]
"""Rows of one length share a kernel: its proof and its machine code take longer than its calls."""
TOLERANCE = {"float32": 2e-5, "float64": 1e-13}


def numbers(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=LATE)])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_softmax(shape: tuple[int, ...], dtype: str) -> None:
    a = numbers(shape, dtype)
    e = np.exp(a - a.max(-1, keepdims=True)) if a.size else a
    np.testing.assert_allclose(softmax(a, threads=1), e / e.sum(-1, keepdims=True), rtol=TOLERANCE[dtype], atol=0)


def test_softmax_of_what_is_not_finite() -> None:
    a = np.zeros((4, 37), np.float32)
    a[0, 3], a[1, 36], a[2] = np.nan, np.inf, -np.inf
    found = softmax(a, threads=1)
    assert np.isnan(found[:3]).all() and (found[3] == np.float32(1 / 37)).all()
    a[3, ::2] = -np.inf
    assert (softmax(a, threads=1)[3] == np.where(a[3] == 0, np.float32(1 / 18), 0)).all()


@pytest.mark.parametrize("shape", [(2, 3, 37), pytest.param((5, 64), marks=LATE)], ids=str)
def test_layer_norm(shape: tuple[int, ...]) -> None:
    a, w, v = numbers(shape, "float32"), numbers(shape[-1:], "float32"), numbers(shape[-1:], "float32") + 1
    normal = (a - a.mean(-1, keepdims=True)) / np.sqrt(a.var(-1, keepdims=True) + 1e-3)
    np.testing.assert_allclose(layer_norm(a, w, v, eps=1e-3, threads=1), normal * w + v, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(layer_norm(a, eps=1e-3, threads=1), normal, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums_and_maxima(shape: tuple[int, ...]) -> None:
    a = numbers(shape, "float32")
    np.testing.assert_allclose(row_sum(a, threads=1), a.sum(-1), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(row_max(a, threads=1), a.max(-1))


def test_maxima_pass_over_nan() -> None:
    a = np.full((2, 37), np.nan, np.float32)
    a[0, 5] = -3.0
    assert row_max(a, threads=1).tolist() == [-3.0, -np.inf]


@pytest.mark.nightly
def test_two_threads_compute_the_same_bits() -> None:
    a = numbers((400, 200), "float32")
    assert softmax(a, threads=2).tobytes() == softmax(a, threads=1).tobytes()


@pytest.mark.parametrize(
    ("kernel", "sums"),
    [
        (lambda: softmax_kernel(37, "float32", target=machine(1)), "top or total"),
        (lambda: layer_norm_kernel(37, "float32", eps=1e-3, target=machine(1)), "squares or total"),
        (lambda: row_sum_kernel(37, "float32", target=machine(1)), "B"),
        (lambda: row_max_kernel(37, "float32", target=machine(1)), "B"),
    ],
    ids=["softmax", "layer_norm", "row_sum", "row_max"],
)
def test_the_theorem_names_what_is_summed_in_another_order_and_assumes_nothing_else(kernel: object, sums: str) -> None:
    made = kernel()  # type: ignore[operator]
    assert made.schedule.assumptions[-1] == (
        f"the bits of a float reduction into {sums} may be those of another order of its terms"
    )
    assert len(made.schedule.assumptions) == 3, made.schedule.assumptions


def test_sums_that_are_exact_have_the_bits_of_the_plain_loops() -> None:
    """Small whole numbers: any order gives the same sum, so that the interpreter's order does."""
    kernel = row_sum_kernel(37, "float32", target=machine(1))
    a = np.random.default_rng(1).integers(-50, 50, (3, 37)).astype(np.float32)
    found, wanted = np.zeros(3, np.float32), run(kernel.program, {"A": a, "B": np.zeros(3, np.float32)}).arrays["B"]
    kernel(a, found)
    assert found.tobytes() == wanted.tobytes()


def test_what_is_refused() -> None:
    a = numbers((3, 8), "float32")
    with pytest.raises(TypeError, match=r"softmax: a is a list, not an array of numpy"):
        softmax([1.0, 2.0])
    with pytest.raises(TypeError, match=r"row_sum: a is an array of int32; float32, float64 are taken"):
        row_sum(np.zeros((2, 2), np.int32))
    with pytest.raises(ValueError, match=r"row_max: a has no elements in its last axis; its shape is \(3, 0\)"):
        row_max(a[:, :0])
    with pytest.raises(ValueError, match=r"layer_norm: weight has 7 elements, and rows have 8"):
        layer_norm(a, a[0, :7])
    for eps in (-1.0, float("nan"), float("inf"), 10**400):
        with pytest.raises(ValueError, match=r"layer_norm: eps is a finite number from 0 on, not"):
            layer_norm(a, eps=eps)
    with pytest.raises(TypeError, match="layer_norm: eps is a number, not 'x'"):
        layer_norm(a, eps="x")  # type: ignore[arg-type]
    for kernel, name in ((softmax.kernel, "softmax"), (layer_norm.kernel, "layer_norm"), (row_sum.kernel, "row_sum")):
        for columns in (0, 2**31):
            with pytest.raises(ValueError, match=f"{name}: columns are numbers from 1 to 2147483647, not {columns}"):
                kernel(columns)
    with pytest.raises(ValueError, match=r"softmax: a has no elements in its last axis; its shape is \(\)"):
        softmax(np.array(1, np.float32))
    with pytest.raises(ValueError, match=r"softmax: out shares memory with an operand"):
        softmax(a, out=a)
    with pytest.raises(ValueError, match=r"row_sum: out has shape \(3, 8\); the result has shape \(3,\)"):
        row_sum(a, out=np.zeros((3, 8), np.float32))
