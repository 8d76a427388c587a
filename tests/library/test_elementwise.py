"""Functions of elements, and transposition: the bits of the interpreter, any shape, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir.ir.dtype import FLOAT32
from verified_tir.library import elementwise, relu, transpose
from verified_tir.library.elements import FUNCTIONS, elementwise_kernel
from verified_tir.library.kernel import machine
from verified_tir.library.transposition import transpose_kernel
from verified_tir.semantics.intrinsics import EXPANDED, array_operation

SPECIAL = [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e-40, 88.8, -104.0, 0.65, 3.5]


def numbers(size: int, dtype: str = "float32") -> np.ndarray:
    random = np.random.default_rng(size).standard_normal(size) * 3
    random[: len(SPECIAL)] = SPECIAL[:size]
    return random.astype(dtype)


@pytest.mark.sample(6)
@pytest.mark.parametrize("function", sorted(EXPANDED & FUNCTIONS.keys()))
def test_each_has_the_bits_of_its_definition(function: str) -> None:
    a = numbers(1003)
    with np.errstate(all="ignore"):
        wanted = array_operation(function, FLOAT32)(a)
    found = elementwise(function, a.reshape(17, 59), threads=1).reshape(-1)
    same = (found.view(np.int32) == wanted.view(np.int32)) | (np.isnan(found) & np.isnan(wanted))
    assert same.all(), (a[~same], found[~same], wanted[~same])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("size", [0, 1, 16, 64, 65, 700])
def test_relu(size: int, dtype: str) -> None:
    a = numbers(size, dtype)
    assert relu(a, threads=1).tobytes() == np.where(a < 0, 0, a).astype(dtype).tobytes(), "NaN and -0.0 stay"


def test_one_kernel_is_for_every_size() -> None:
    kernel = elementwise_kernel("exp", target=machine(1))
    assert kernel is elementwise_kernel("exp", target=machine(1))
    assert kernel.schedule.assumptions[-1].startswith("0 <= size"), "nothing about bits"


def test_new_results_begin_with_a_line_of_the_cache() -> None:
    for size in (3, 1000):
        assert relu(numbers(size)).__array_interface__["data"][0] % 64 == 0


@pytest.mark.sample(4)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint64"])
@pytest.mark.parametrize("shape", [(64, 32), (37, 50), (16, 33), (33, 16), (5, 7), (1, 100), (0, 4)], ids=str)
def test_transpose(shape: tuple[int, int], dtype: str) -> None:
    a = np.arange(shape[0] * shape[1]).reshape(shape).astype(dtype)
    found = transpose(a, threads=1)
    assert found.flags.c_contiguous and found.shape == shape[::-1] and (found == a.T).all()


def test_bits_of_nan_are_transposed_as_they_are() -> None:
    """One NaN is all of them to a program of floats; integers of the same width keep the bits."""
    a = np.array([[0x7FC00001, 0x7F800001], [0xFFC00000, 0]], np.uint32)
    assert (transpose(a, threads=1) == a.T).all()


def test_the_theorem_of_a_transposition_assumes_nothing() -> None:
    assumptions = transpose_kernel(32, 32, target=machine(1)).schedule.assumptions
    assert assumptions == ["A, B hold definite values, and what is written overlaps no other argument"]


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match=r"there is no function 'relux' of elements; there are abs, atan, "):
        elementwise("relux", numbers(3))
    with pytest.raises(ValueError, match="there is no function 'foo' of elements"):
        elementwise.kernel("foo")
    with pytest.raises(ValueError, match=r"there is no function \[\] of elements"):
        elementwise([], numbers(3))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="transpose: rows and columns are numbers from 0 to 2147483647, not -1, 3"):
        transpose.kernel(-1, 3)
    with pytest.raises(TypeError, match=r"exp: a is an array of int64; float16, float32, float64 are taken"):
        elementwise("exp", np.arange(3))
    with pytest.raises(ValueError, match=r"transpose: a has 2 dimensions; an array of shape \(3,\) was given"):
        transpose(np.zeros(3, np.float32))
    with pytest.raises(TypeError, match=r"transpose: a is an array of bool"):
        transpose(np.zeros((3, 3), bool))
