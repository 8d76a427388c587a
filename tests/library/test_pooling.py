"""Pooling: maxima and averages of windows, the bits of the plain loops, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.library.test_convolution import to_layout
from tests.nightly import few
from verified_tir.library.kernel import machine
from verified_tir.library.pooling import _problem, avg_pool2d, max_pool2d, pool2d_kernel
from verified_tir.semantics.interpreter import run

Array = np.ndarray[Any, Any]


def windows(x: Array, size: Any, strides: Any, padding: Any, dilation: Any, value: float) -> Array:
    """The elements of each window of x[n, c, h, w], last."""
    x = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2), constant_values=value)
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, size, strict=True)]
    seen = np.lib.stride_tricks.sliding_window_view(x, reach, axis=(2, 3))
    seen = seen[:, :, :: strides[0], :: strides[1], :: dilation[0], :: dilation[1]]
    return seen.reshape(*seen.shape[:4], -1)


@st.composite
def problems(draw: st.DrawFn) -> dict[str, Any]:
    layout, block = draw(st.sampled_from(["NHWC", "NCHW", "NCHWc"])), draw(st.sampled_from([4, 16]))
    channels = block * draw(st.integers(1, 2)) if layout == "NCHWc" else draw(st.integers(1, 19))
    size = draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    pair = st.tuples(st.integers(1, 2), st.integers(1, 2))
    strides, dilation = draw(pair), draw(pair)
    padding = tuple(draw(st.integers(0, k // 2)) for k in size)
    image = [d * (k - 1) + 1 + draw(st.integers(0, 20)) for d, k in zip(dilation, size, strict=True)]
    return {
        "layout": layout, "block": block, "x": (draw(st.integers(1, 2)), channels, *image), "size": size,
        "strides": strides, "dilation": dilation, "padding": padding, "seed": draw(st.integers(0, 99)),
        "dtype": draw(st.sampled_from(["float32", "float64"])),
    }  # fmt: skip


def check(p: dict[str, Any]) -> None:
    x = np.random.default_rng(p["seed"]).standard_normal(p["x"]).astype(p["dtype"])
    data = to_layout(x, p["layout"], p["block"])
    common = {"strides": p["strides"], "padding": p["padding"], "layout": p["layout"], "threads": 1}
    got = max_pool2d(data, p["size"], dilation=p["dilation"], **common)
    want = windows(x, p["size"], p["strides"], p["padding"], p["dilation"], -np.inf).max(-1)
    np.testing.assert_array_equal(got, to_layout(want, p["layout"], p["block"]))
    seen = windows(x.astype(np.float64), p["size"], p["strides"], p["padding"], (1, 1), np.nan)
    for count_padding, mean in ((False, np.nanmean(seen, -1)), (True, np.nan_to_num(seen).mean(-1))):
        averages = avg_pool2d(data, p["size"], count_padding=count_padding, **common)
        np.testing.assert_allclose(averages, to_layout(mean, p["layout"], p["block"]), rtol=1e-4, atol=1e-5)
        sizes = _problem("avg_pool2d", data, p["size"], p["strides"], p["padding"], 1, p["layout"])
        kind = "average with padding" if count_padding else "average"
        program = pool2d_kernel(sizes, p["layout"], kind, target=machine(1)).program
        ended = run(program, {"X": data, "Y": np.zeros_like(averages)})
        np.testing.assert_array_equal(averages, ended.arrays["Y"])


@settings(max_examples=few(2, 40), deadline=None, derandomize=True, database=None, phases=[Phase.generate])
@given(problems())
def test_all_sizes(p: dict[str, Any]) -> None:
    """A failing case is not made smaller, since each attempt is proved."""
    check(p)


@pytest.mark.parametrize(
    ("image", "size"), [((1, 32), 1), pytest.param((5, 64), 2, marks=pytest.mark.nightly)], ids=str
)
def test_results_of_one_row_have_whole_vectors_of_places(image: tuple[int, int], size: int) -> None:
    usual = {"layout": "NCHW", "block": 1, "dilation": (1, 1), "padding": (0, 0), "seed": 0, "dtype": "float32"}
    check({**usual, "x": (1, 2, *image), "size": (size, size), "strides": (size, size)})


def test_a_nan_is_passed_over() -> None:
    x = np.full((1, 4, 4, 16), -3, np.float32)
    x[0, 0, 0, 0] = np.nan
    x[0, :2, :2, 1] = np.nan
    got = max_pool2d(x, 2, threads=1)
    assert got[0, 0, 0, 0] == -3 and got[0, 0, 0, 1] == -np.inf


def test_threads_and_empty_batches() -> None:
    x = np.random.default_rng(0).standard_normal((2, 9, 9, 24), np.float32)
    np.testing.assert_array_equal(max_pool2d(x, 3, padding=1, threads=1), max_pool2d(x, 3, padding=1, threads=2))
    assert max_pool2d(x[:0], 3).shape == (0, 3, 3, 24)


X = np.zeros((1, 5, 5, 4), np.float32)


@pytest.mark.parametrize(
    ("x", "size", "named", "error", "said"),
    [
        (X.astype(np.int8), 2, {}, TypeError, "x is an array of int8; float32, float64 are taken"),
        (X, 0, {}, ValueError, "sizes are two numbers of at least 1"),
        (X, 3, {"padding": 2}, ValueError, r"the padding is at most half of the window \(3, 3\), not \(2, 2\)"),
        (X, 6, {}, ValueError, r"a window of \(6, 6\) does not fit into 5 rows and 5 columns"),
        (X, 2, {"layout": "CHWN"}, ValueError, "the layout is NHWC, NCHW, NCHWc, not 'CHWN'"),
        (np.zeros((1, 1, 5, 5, 3), np.float32), 2, {"layout": "NCHWc"}, ValueError, "not 3; take NHWC"),
        (np.zeros((1, 1, 5, 5, 0), np.float32), 2, {"layout": "NCHWc"}, ValueError, "not 0; take NHWC"),
        (X, 2, {"layout": []}, ValueError, r"the layout is NHWC, NCHW, NCHWc, not \[\]"),
        (X, 2, {"strides": 2**33}, ValueError, "strides are two numbers of at least 1, and at most 2147483647"),
        (X, 2, {"out": X}, ValueError, "out has shape"),
    ],
)
def test_refusals(x: Array, size: int, named: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        max_pool2d(x, size, **named)
