"""Convolutions: the numbers that a sum in float64 gives, the bits of the plain loops, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.nightly import few
from verified_tir.certificate.certify import certify
from verified_tir.certificate.check import check as check_certificates
from verified_tir.library.convolution import Convolution, conv2d
from verified_tir.semantics.interpreter import run

Array = np.ndarray[Any, Any]


def expected(x: Array, w: Array, bias: Array, s: Any, p: Any, d: Any, groups: int) -> Array:
    """The convolution of x[n, c, h, w], summed in float64."""
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (p[0], p[0]), (p[1], p[1])))
    n, c, h, wide = x.shape
    o, i, kh, kw = w.shape
    oh, ow = (h - d[0] * (kh - 1) - 1) // s[0] + 1, (wide - d[1] * (kw - 1) - 1) // s[1] + 1
    y = np.zeros((n, o, oh, ow))
    for r in range(kh):
        for k in range(kw):
            part = x[:, :, r * d[0] : r * d[0] + s[0] * oh : s[0], k * d[1] : k * d[1] + s[1] * ow : s[1]][
                :, :, :oh, :ow
            ]
            each = part.reshape(n, groups, c // groups, oh, ow)
            weights = w[:, :, r, k].reshape(groups, o // groups, i)
            y += np.einsum("ngchw,gkc->ngkhw", each, weights).reshape(n, o, oh, ow)
    return y + bias[:, None, None]


def to_layout(x: Array, layout: str, block: int) -> Array:
    n, c, h, w = x.shape
    if layout == "NHWC":
        return np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    if layout == "NCHWc":
        return np.ascontiguousarray(x.reshape(n, c // block, block, h, w).transpose(0, 1, 3, 4, 2))
    return x


@st.composite
def problems(draw: st.DrawFn) -> dict[str, Any]:
    layout = draw(st.sampled_from(["NHWC", "NCHW", "NCHWc"]))
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    depthwise = draw(st.integers(0, 2)) == 0
    block = draw(st.sampled_from([4, 16]))
    if depthwise:
        groups, i, o = (block * draw(st.integers(1, 2)) if layout == "NCHWc" else draw(st.integers(1, 19))), 1, 1
    elif layout == "NCHWc":
        i, o = block * draw(st.integers(1, 2)), block * draw(st.integers(1, 3))
    else:
        i, o = draw(st.integers(1, 5)), draw(st.integers(1, 36))
    kernel = draw(st.sampled_from([(1, 1), (3, 3), (1, 3), (2, 1)]))
    pair = st.tuples(st.integers(1, 2), st.integers(1, 2))
    strides, dilation, padding = draw(pair), draw(pair), draw(st.tuples(st.integers(0, 1), st.integers(0, 2)))
    least = [max(1, d * (k - 1) + 1 - 2 * p) for d, k, p in zip(dilation, kernel, padding, strict=True)]
    size = [m + draw(st.integers(0, 9)) for m in least]
    return {
        "layout": layout, "groups": groups, "block": block, "w": (groups * o, i, *kernel),
        "x": (draw(st.integers(1, 2)), groups * i, *size), "strides": strides, "padding": padding, "dilation": dilation,
        "activation": draw(st.sampled_from(["", "relu"])), "dtype": draw(st.sampled_from(["float32", "float64"])),
        "seed": draw(st.integers(0, 99)),
    }  # fmt: skip


def check(p: dict[str, Any]) -> None:
    """The numbers of a sum in float64, and the bits of the plain loops, run by the interpreter."""
    rng = np.random.default_rng(p["seed"])
    x, w = (rng.standard_normal(p[k]).astype(p["dtype"]) for k in ("x", "w"))
    bias = rng.standard_normal(p["w"][0]).astype(p["dtype"])
    pairs = {k: p[k] for k in ("strides", "padding", "dilation")}
    layer = Convolution(w, bias, **pairs, groups=p["groups"], layout=p["layout"], activation=p["activation"], threads=1)
    data = to_layout(x, p["layout"], p["block"])
    got = layer(data)
    want = expected(x, w, bias, *pairs.values(), p["groups"])
    want = np.maximum(want, 0) if p["activation"] else want
    np.testing.assert_allclose(got, to_layout(want, p["layout"], p["block"]), rtol=1e-4, atol=1e-4)
    program = layer.kernel(data).program
    shapes = [[n.value for n in b.shape] for b in program.buffers]  # type: ignore[attr-defined]
    arrays = [a.reshape(s) for a, s in zip((data, w, bias, np.zeros_like(got)), shapes, strict=True)]
    ended = run(program, {b.name: a for b, a in zip(program.buffers, arrays, strict=True)})
    np.testing.assert_array_equal(got.reshape(-1), ended.arrays["Y"].reshape(-1))


@settings(max_examples=few(2, 60), deadline=None, derandomize=True, database=None, phases=[Phase.generate])
@given(problems())
def test_all_sizes(p: dict[str, Any]) -> None:
    """A failing case is not made smaller, since each attempt is proved."""
    check(p)


def problem(layout: str, x: tuple[int, ...], w: tuple[int, ...], **more: Any) -> dict[str, Any]:
    usual = {
        "groups": 1, "block": 16, "strides": (1, 1), "padding": (0, 0), "dilation": (1, 1), "activation": "relu",
        "seed": 0, "dtype": "float32",
    }  # fmt: skip
    return {**usual, "layout": layout, "x": x, "w": w, **more}


@pytest.mark.parametrize(
    "p",
    [
        problem("NHWC", (1, 5, 6, 17), (34, 5, 3, 3), padding=(1, 1)),
        problem("NHWC", (2, 12, 5, 9), (68, 3, 1, 1), groups=4, strides=(2, 2)),
        problem("NHWC", (1, 19, 6, 9), (19, 1, 3, 3), groups=19, padding=(1, 0), dilation=(2, 1)),
        problem("NCHWc", (1, 16, 4, 15), (32, 16, 3, 3), padding=(1, 1)),
        problem("NCHWc", (1, 32, 7, 5), (32, 1, 3, 3), groups=32, strides=(2, 1), padding=(1, 1)),
        problem("NCHW", (1, 6, 5, 21), (20, 3, 1, 1), groups=2),
        problem("NCHW", (1, 3, 6, 37), (3, 1, 3, 3), groups=3, padding=(1, 1)),
        problem("NCHW", (1, 3, 9, 11), (10, 3, 3, 3), strides=(2, 2), padding=(1, 1), dtype="float64"),
        problem("NHWC", (1, 1, 1, 1), (1, 1, 1, 1)),
    ],
    ids=lambda p: "-".join(map(str, (p["layout"], *p["x"], *p["w"]))),
)
@pytest.mark.nightly
@pytest.mark.sample(4)
def test_each_strategy(p: dict[str, Any]) -> None:
    check(p)


def test_threads_give_the_same_bits() -> None:
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((2, 9, 9, 8), np.float32), rng.standard_normal((24, 8, 3, 3), np.float32)
    one, two = (conv2d(x, w, padding=1, threads=n) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_a_rectifier_keeps_nan(layout: Any) -> None:
    x = np.array([np.nan, -1, 2, -np.inf], np.float32).reshape((1, 1, 4, 1) if layout == "NHWC" else (1, 1, 1, 4))
    got = conv2d(x, np.ones((1, 1, 1, 1), np.float32), layout=layout, activation="relu", threads=1)
    np.testing.assert_array_equal(got.reshape(-1), [np.nan, 0, 2, 0])


def test_depthwise_results_of_one_row_have_whole_vectors_of_places() -> None:
    """In NCHW rows follow each other where a place of the result is computed from one of the data: that is one row."""
    for x, w in (((1, 2, 8, 8), (2, 1, 1, 1)), ((1, 1, 4, 16), (1, 1, 1, 1)), ((1, 2, 3, 34), (2, 1, 3, 3))):
        check(problem("NCHW", x, w, groups=x[1]))


def test_weights_are_packed_once_and_results_go_where_they_are_wanted() -> None:
    rng = np.random.default_rng(0)
    w = rng.standard_normal((16, 4, 1, 1), np.float32)
    bias = np.zeros(16, np.float32)
    layer = Convolution(w, bias, threads=1)
    out = np.empty((1, 2, 7, 16), np.float32)
    x = rng.standard_normal((1, 2, 7, 4), np.float32)
    assert layer(x, out=out) is out
    w[:], bias[:] = 0, 9  # nobody looks at them again
    np.testing.assert_array_equal(layer(x), out)
    assert len(layer._packed) == 1
    with pytest.raises(ValueError, match=r"out has shape \(1, 2, 7, 16\)"):
        layer(rng.standard_normal((1, 3, 7, 4), np.float32), out=out)


def test_attributes_are_whole_numbers_of_python_or_numpy() -> None:
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((1, 5, 5, 4), np.float32), rng.standard_normal((8, 2, 3, 3), np.float32)
    numbers = {"strides": (np.int64(2), 1), "padding": np.int32(1), "dilation": np.uint8(1), "groups": np.int64(2)}
    got = conv2d(x, w, **numbers, threads=1)  # type: ignore[arg-type]
    np.testing.assert_array_equal(got, conv2d(x, w, strides=(2, 1), padding=1, groups=2, threads=1))


@pytest.mark.nightly
def test_a_kernel_has_a_certificate(tmp_path: Path) -> None:
    x = np.zeros((1, 4, 9, 5), np.float32)
    kernel = Convolution(np.zeros((20, 5, 3, 3), np.float32), padding=1, threads=1).kernel(x)
    certify(tmp_path, conv2d=kernel.schedule)
    assert check_certificates(tmp_path, ("z3",)).exit_code == 0


def test_nothing_is_computed_of_an_empty_batch() -> None:
    assert conv2d(np.zeros((0, 5, 6, 4), np.float32), np.zeros((8, 4, 3, 3), np.float32), threads=1).shape == (
        0,
        3,
        4,
        8,
    )


X, W = np.zeros((1, 5, 5, 4), np.float32), np.zeros((8, 4, 3, 3), np.float32)


@pytest.mark.parametrize(
    ("x", "w", "named", "error", "said"),
    [
        (X, W.astype(np.int32), {}, TypeError, "w is an array of int32; float32, float64 are taken"),
        (X.astype(np.float64), W, {}, TypeError, "x is an array of float64; float32 are taken"),
        (X[0], W, {}, ValueError, "x has 4 dimensions"),
        (X, W, {"groups": 3}, ValueError, "do not fit 3 groups"),
        (X, W, {"strides": 1.5}, ValueError, "strides are two numbers of at least 1, or one for both, not 1.5"),
        (X, W, {"groups": 1.0}, ValueError, "the number of groups is a whole number of at least 1, not 1.0"),
        (X, W, {"groups": "2"}, ValueError, "the number of groups is a whole number of at least 1, not '2'"),
        (X, W, {"layout": []}, ValueError, r"the layout is NHWC, NCHW, NCHWc, not \[\]"),
        (X, W, {"activation": []}, ValueError, r"the activation is relu, or none \(''\), not \[\]"),
        (X, W, {"padding": 2**31}, ValueError, "two numbers of at least 0, and at most 2147483647, or one for both"),
        (
            X,
            W,
            {"padding": 2**30},
            ValueError,
            "the sizes of the data with their padding are numbers from 0 to 2147483647",
        ),
        (X, W, {"groups": 2}, ValueError, "has 4 channels in NHWC; the weights are for 8"),
        (X, W, {"layout": "HWCN"}, ValueError, "the layout is NHWC, NCHW, NCHWc, not 'HWCN'"),
        (X, W, {"activation": "tanh"}, ValueError, "the activation is relu"),
        (X, W, {"strides": 0}, ValueError, "strides are two numbers of at least 1"),
        (X, W, {"padding": (1, 1, 1)}, ValueError, "padding are two numbers"),
        (X, W, {"dilation": 3}, ValueError, r"a window of \(3, 3\) does not fit into 5 rows and 5 columns"),
        (X, W, {"bias": np.zeros(4, np.float32)}, ValueError, r"a bias of shape \(4,\) does not fit 8 channels"),
        (np.zeros((1, 2, 5, 5, 2), np.float32), W, {"layout": "NCHWc"}, ValueError, "take NHWC"),
        (np.zeros((1, 1, 5, 5, 4), np.float32), W[:6], {"layout": "NCHWc"}, ValueError, "not whole blocks"),
    ],
)
def test_refusals(x: Array, w: Array, named: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        conv2d(x, w, **named)
