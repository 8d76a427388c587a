"""Each operator against numpy, on numbers that are summed exactly in any order; and what operators do not take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from verified_tir import Schedule, build
from verified_tir.graph import GraphBuilder, GraphError, TensorType
from verified_tir.graph.operators import OPERATORS, legalize

Array = np.ndarray


def small(*shape: int, seed: int = 0, low: int = -4) -> Array:
    return np.random.default_rng(seed).integers(low, 5, shape).astype(np.float32)


X, SQUARE, IMAGE = small(1, 4, 7, 6), small(3, 3), small(1, 2, 4, 4)
SEVEN, TWO = np.array([-7, 7, 6, -(2**31)], np.int32), np.array([2, -2, 0, -1], np.int32)
AROUND, PAD = ((2, 0), (0, 2)), {"pad_width": (2, 0, 0, 2)}
POSITIVE = small(4, seed=1, low=1)
PLACES = np.array([[1, -1], [5, 0]], np.int64)


def conv(
    x: Array, w: Array, strides: Any = (1, 1), padding: Any = (0, 0, 0, 0), dilation: Any = (1, 1), groups: int = 1
) -> Array:
    top, left, bottom, right = padding
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    kh, kw = (dilation[0] * (w.shape[2] - 1) + 1, dilation[1] * (w.shape[3] - 1) + 1)
    windows = np.lib.stride_tricks.sliding_window_view(x, (kh, kw), (2, 3))
    windows = windows[:, :, :: strides[0], :: strides[1], :: dilation[0], :: dilation[1]]
    parts = zip(np.split(windows, groups, 1), np.split(w, groups, 0), strict=True)
    return np.concatenate([np.einsum("nchwij,ocij->nohw", a, b) for a, b in parts], 1)


def transposed(x: Array, w: Array, stride: int, pad: int) -> Array:
    """Each element of x spreads w."""
    n, _, h, v = x.shape
    o, kh, kw = w.shape[1:]
    big = np.zeros((n, o, (h - 1) * stride + kh, (v - 1) * stride + kw), np.float32)
    for i in range(h):
        for j in range(v):
            spread = np.einsum("nc,cokl->nokl", x[:, :, i, j], w)
            big[:, :, i * stride : i * stride + kh, j * stride : j * stride + kw] += spread
    return big[:, :, pad : big.shape[2] - pad, pad : big.shape[3] - pad]


def pool(x: Array, size: int, stride: int, pad: int, with_: Callable[..., Array], fill: float) -> Array:
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)), constant_values=fill)
    return with_(
        np.lib.stride_tricks.sliding_window_view(x, (size, size), (2, 3))[:, :, ::stride, ::stride], axis=(4, 5)
    )


def softmax(x: Array, axis: int) -> Array:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


W, G, D, WT = small(6, 4, 3, 3), small(8, 2, 3, 2), small(4, 1, 3, 3), small(4, 3, 3, 3)
HALF = {"padding": (1, 1, 1, 1), "strides": (2, 2)}

FINITE = np.array([-2.5, -0.75, -0.0, 0.5, 1.5, 2.5, 90], np.float32)
SOFTPLUS = np.array([np.nan, 0, np.inf, *np.log1p(np.exp(np.array([-89, *FINITE], float)))], np.float32)
SPECIAL = np.array([np.nan, -np.inf, np.inf, -89, *FINITE], np.float32)
UNIT = np.array([-0.75, -0.0, 0, 1e-20, 0.5, 1], np.float32)
LARGE = np.array([1, 1.5, 1e30, 3e38], np.float32)
BITS, OTHER = np.array([1, -128, 0, 77], np.int8), np.array([1, 7, 8, -1], np.int8)
HALVES, THREES = np.array([7, -7, -0.0, np.inf, 3], np.float16), np.array([3, 3, 3, 3, -np.inf], np.float16)
CASES: dict[str, tuple[str, list[Array], dict[str, Any], Array | list[Array]]] = {
    **{n: (n, [UNIT], {}, f(UNIT)) for n, f in (("asin", np.arcsin), ("acos", np.arccos), ("asinh", np.arcsinh))},
    "acosh": ("acosh", [LARGE], {}, np.arccosh(LARGE)),
    "asinh of large ones": ("asinh", [-LARGE], {}, np.arcsinh(-LARGE)),
    "atanh": ("atanh", [UNIT[:-1]], {}, np.arctanh(UNIT[:-1])),
    "bitwise_and": ("bitwise_and", [BITS, OTHER], {}, BITS & OTHER),
    "bitwise_or": ("bitwise_or", [BITS, OTHER], {}, BITS | OTHER),
    "bitwise_xor": ("bitwise_xor", [BITS, OTHER], {}, BITS ^ OTHER),
    "bitwise_not": ("bitwise_not", [BITS], {}, ~BITS),
    "shift left": ("shift", [BITS, OTHER], {"left": True}, np.array([2, 0, 0, 0], np.int8)),
    "shift right": ("shift", [BITS, OTHER], {"left": False}, np.array([0, -1, 0, 0], np.int8)),
    "mod": ("mod", [BITS, np.array([3, -1, 5, 0], np.int8)], {}, np.array([1, 0, 0, 0], np.int8)),
    "float_mod": ("float_mod", [HALVES, THREES], {"truncated": False}, np.float16([1, 2, 0, np.nan, -np.inf])),
    "float_mod truncated": ("float_mod", [HALVES, THREES], {}, np.array([1, -1, 0, np.nan, 3], np.float16)),
    "isinf": ("isinf", [SPECIAL], {"negative": False}, np.inf == SPECIAL),
    "scatter_elements": (
        "scatter_elements", [np.zeros((2, 2), np.float32), np.array([[-1]]), small(1, 1)], {"axis": 1},
        np.array([[0, small(1, 1).item()], [0, 0]], np.float32),
    ),
    "scatter_nd": (
        "scatter_nd", [np.zeros((2, 2), np.float32), np.array([[1]]), small(1, 2)], {},
        np.stack([np.zeros(2, np.float32), small(1, 2)[0]]),
    ),
    "gather_nd": ("gather_nd", [small(2, 3), np.array([[1, 2], [0, -1]])], {}, small(2, 3)[[1, 0], [2, -1]]),
    "one_hot": (
        "one_hot", [np.array([1, -1, 3]), np.array([0, 1], np.float32)], {"depth": 3, "axis": 0},
        np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32),
    ),
    "topk": (
        "topk", [small(3, 5)], {"k": 2, "largest": False},
        [np.sort(small(3, 5))[:, :2], np.argsort(small(3, 5))[:, :2]],
    ),
    "reverse_sequence": (
        "reverse_sequence", [small(3, 2), np.array([2, 3])], {"batch_axis": 1, "time_axis": 0},
        np.stack([small(3, 2)[[1, 0, 2], 0], small(3, 2)[::-1, 1]], 1),
    ),
    "einsum": (
        "einsum", [small(2, 3, 4), small(4, 5)], {"equation": "...ij,jk->...ki"},
        np.einsum("...ij,jk->...ki", small(2, 3, 4), small(4, 5)),
    ),
    "conv_transpose": (
        "nn.conv_transpose", [X, WT],
        {"strides": (2, 2), "padding": [(1, 1), (1, 1)], "dilation": (1, 1), "output_padding": (0, 0)},
        transposed(X, WT, 2, 1),
    ),
    "conv2d": ("nn.conv2d", [X, W], {}, conv(X, W)),
    "conv2d strides, padding": ("nn.conv2d", [X, W], HALF, conv(X, W, **HALF)),
    "conv2d groups, dilation": (
        "nn.conv2d", [X, G], {"groups": 2, "dilation": (2, 1), "padding": (0, 1, 2, 0)},
        conv(X, G, groups=2, dilation=(2, 1), padding=(0, 1, 2, 0)),
    ),
    "conv2d depthwise": ("nn.conv2d", [X, D], {"groups": 4}, conv(X, D, groups=4)),
    "conv2d bias": ("nn.conv2d", [X, W, small(6)], {}, conv(X, W) + small(6)[:, None, None]),
    "conv2d_transpose": (
        "nn.conv2d_transpose", [X, WT], {"strides": (2, 2), "padding": (1, 1, 1, 1)}, transposed(X, WT, 2, 1)
    ),
    "sign": ("sign", [SPECIAL], {}, np.sign(SPECIAL)),
    "sign of what is never negative": ("sign", [np.array([0, 7], np.uint8)], {}, np.array([0, 1], np.uint8)),
    "round": ("round", [SPECIAL], {}, np.round(SPECIAL)),
    "sin": ("sin", [FINITE], {}, np.sin(FINITE)),
    "cos": ("cos", [FINITE], {}, np.cos(FINITE)),
    "softplus": ("nn.softplus", [SPECIAL], {}, SOFTPLUS),
    "elu": ("nn.elu", [FINITE], {"alpha": 0.5}, np.where(FINITE > 0, FINITE, np.expm1(np.minimum(FINITE, 0)) / 2)),
    "hard_sigmoid": ("nn.hard_sigmoid", [SPECIAL[1:]], {}, np.clip(SPECIAL[1:] / 5 + np.float32(0.5), 0, 1)),
    "hard_swish": ("nn.hard_swish", [FINITE], {}, FINITE * np.clip(FINITE / 6 + np.float32(0.5), 0, 1)),
    "gelu_tanh": (
        "nn.gelu_tanh", [FINITE], {},
        FINITE / 2 * (1 + np.tanh(np.float32((2 / np.pi) ** 0.5) * (FINITE + np.float32(0.044715) * FINITE**3))),
    ),
    "matmul": ("matmul", [small(2, 3, 4), small(4, 5)], {}, small(2, 3, 4) @ small(4, 5)),
    "matmul transposed": (
        "matmul", [small(2, 4, 3), small(1, 5, 4)], {"transpose_a": True, "transpose_b": True},
        small(2, 4, 3).swapaxes(1, 2) @ small(1, 5, 4).swapaxes(1, 2),
    ),
    "dense": ("nn.dense", [small(2, 4), small(5, 4), small(5)], {}, small(2, 4) @ small(5, 4).T + small(5)),
    "max_pool2d": ("nn.max_pool2d", [X], {"pool_size": (3, 3), **HALF}, pool(X, 3, 2, 1, np.max, -np.inf)),
    "max_pool2d ceil": (
        "nn.max_pool2d", [X], {"pool_size": (2, 2), "strides": (2, 2), "ceil_mode": True},
        pool(np.pad(X, ((0, 0), (0, 0), (0, 1), (0, 0)), constant_values=-np.inf), 2, 2, 0, np.max, 0),
    ),
    "avg_pool2d with padding": (
        "nn.avg_pool2d", [X], {"pool_size": (2, 2), "count_include_pad": True, **HALF}, pool(X, 2, 2, 1, np.mean, 0)
    ),
    "avg_pool2d": (
        "nn.avg_pool2d", [X], {"pool_size": (2, 2), **HALF},
        pool(X, 2, 2, 1, np.sum, 0) / pool(np.ones_like(X), 2, 2, 1, np.sum, 0),
    ),
    "global_avg_pool2d": ("nn.global_avg_pool2d", [IMAGE], {}, IMAGE.mean((2, 3), keepdims=True)),
    "global_max_pool2d": ("nn.global_max_pool2d", [X], {}, X.max((2, 3), keepdims=True)),
    "add": ("add", [X, small(4, 1, 1)], {}, X + small(4, 1, 1)),
    "multiply": ("multiply", [small(3, 1), small(1, 4)], {}, small(3, 1) * small(1, 4)),
    "divide of integers": ("divide", [SEVEN, TWO], {}, np.array([-3, -3, 0, -(2**31)], np.int32)),
    "less": ("less", [SQUARE, SQUARE.T], {}, SQUARE < SQUARE.T),
    "where": ("where", [SQUARE < 0, SQUARE, SQUARE.T], {}, np.where(SQUARE < 0, SQUARE, SQUARE.T)),
    "relu": ("nn.relu", [X], {}, np.maximum(X, 0)),
    "leaky_relu": ("nn.leaky_relu", [X], {"alpha": 0.5}, np.where(X > 0, X, X / 2)),
    "clip": ("clip", [X], {"min": -1, "max": 2}, X.clip(-1, 2)),
    "negative": ("negative", [X], {}, -X),
    "astype": ("astype", [X], {"dtype": "int8"}, X.astype(np.int8)),
    "dropout": ("nn.dropout", [X], {"rate": 0.3}, X),
    "batch_norm": (
        "nn.batch_norm", [X, POSITIVE, small(4), small(4, seed=3), POSITIVE], {"epsilon": 0.0},
        (X - small(4, seed=3)[:, None, None]) / np.sqrt(POSITIVE)[:, None, None] * POSITIVE[:, None, None]
        + small(4)[:, None, None],
    ),
    "softmax": ("nn.softmax", [X], {"axis": 1}, softmax(X, 1)),
    "log_softmax": ("nn.log_softmax", [X], {}, np.log(softmax(X, 3))),
    "layer_norm": (
        "nn.layer_norm", [SQUARE, np.ones(3, np.float32), np.zeros(3, np.float32)], {"epsilon": 1.0},
        (SQUARE - SQUARE.mean(1, keepdims=True)) / np.sqrt(SQUARE.var(1, keepdims=True) + 1),
    ),
    "lrn": (
        "nn.lrn", [X], {"size": 3, "alpha": 3.0, "beta": 1.0},
        X / (1 + sum(np.pad(X**2, ((0, 0), (1, 1), (0, 0), (0, 0)))[:, k : k + 4] for k in range(3))),
    ),
    "sum": ("sum", [X], {"axis": [1, -1]}, X.sum((1, 3))),
    "max": ("max", [X], {"axis": [2], "keepdims": True}, X.max(2, keepdims=True)),
    "mean": ("mean", [small(2, 4, 4)], {}, small(2, 4, 4).mean()),
    "reshape": ("reshape", [X], {"shape": (0, -1, 3)}, X.reshape(1, -1, 3)),
    "flatten": ("flatten", [X], {}, X.reshape(1, -1)),
    "flatten nothing": ("flatten", [np.zeros((2, 0, 3), np.float32)], {"axis": 2}, np.zeros((0, 3), np.float32)),
    "expand_dims": ("expand_dims", [SQUARE], {"axis": [0, -1]}, SQUARE[None, :, :, None]),
    "squeeze": ("squeeze", [X], {}, X[0]),
    "permute_dims": ("permute_dims", [X], {"axes": (0, 2, 3, 1)}, X.transpose(0, 2, 3, 1)),
    "concat": ("concat", [X, X[:, :2], X], {"axis": 1}, np.concatenate([X, X[:, :2], X], 1)),
    "split": ("split", [X], {"sections": [1, 3], "axis": 1}, np.split(X, [1, 3], 1)),
    "split evenly": ("split", [X], {"sections": 2, "axis": -1}, np.split(X, 2, -1)),
    "slice": (
        "strided_slice", [X], {"axes": [2, 3], "begin": [-1, 1], "end": [-100, 5], "strides": [-2, 3]},
        X[:, :, -1:-100:-2, 1:5:3],
    ),
    "pad": ("nn.pad", [SQUARE], {**PAD, "pad_value": 7.0}, np.pad(SQUARE, AROUND, constant_values=7)),
    "pad reflect": ("nn.pad", [SQUARE], {**PAD, "pad_mode": "reflect"}, np.pad(SQUARE, AROUND, "reflect")),
    "pad edge": ("nn.pad", [SQUARE], {**PAD, "pad_mode": "edge"}, np.pad(SQUARE, AROUND, "edge")),
    "take": ("take", [small(3, 6), PLACES], {"axis": 1}, small(3, 6).take(PLACES, 1)),
    "broadcast_to": ("broadcast_to", [small(3, 1)], {"shape": (2, 3, 4)}, np.broadcast_to(small(3, 1), (2, 3, 4))),
    "upsampling": ("nn.upsampling", [X], {"scale_w": 3}, X.repeat(2, 2).repeat(3, 3)),
    "argmax": ("argmax", [np.int32([[1, 3, 3], [2, 0, 1]])], {"axis": 1}, np.int64([[1], [0]])),
    "argmax of the last": (
        "argmax", [np.int32([[1, 3, 3], [2, 0, 1]])], {"axis": 1, "select_last": True}, np.int64([[2], [0]]),
    ),
    "argmin": ("argmin", [X], {"axis": -1, "keepdims": False}, X.argmin(-1)),
    "cumsum": ("cumsum", [SQUARE], {"axis": 1}, SQUARE.cumsum(1)),
    "gather_elements": (
        "gather_elements", [SQUARE, np.int64([[0, -1], [2, 1]])], {"axis": 1},
        np.take_along_axis(SQUARE[:2], np.int64([[0, -1], [2, 1]]), 1),
    ),
    "tile": ("tile", [SQUARE], {"repeats": (2, 3)}, np.tile(SQUARE, (2, 3))),
    "arange": ("arange", [], {"count": 3, "start": 7, "step": -2}, np.array([7, 5, 3])),
    "sizes": ("sizes", [], {"values": (4, 2, 9), "shape": (3,)}, np.array([4, 2, 9])),
    "trilu": ("trilu", [X], {"k": -1, "upper": False}, np.tril(X, -1)),
    "tan": ("tan", [SQUARE], {}, np.tan(SQUARE)),
    "atan": ("atan", [SQUARE], {}, np.arctan(SQUARE)),
    "sinh": ("sinh", [SQUARE], {}, np.sinh(SQUARE)),
    "cosh": ("cosh", [SQUARE], {}, np.cosh(SQUARE)),
    "isnan": ("isnan", [np.float32([1, np.nan])], {}, np.array([False, True])),
    "abs": ("abs", [SQUARE], {}, np.abs(SQUARE)),
    "ceil": ("ceil", [SQUARE], {}, np.ceil(SQUARE)),
    "pad wrap": ("nn.pad", [SQUARE], {**PAD, "pad_mode": "wrap"}, np.pad(SQUARE, AROUND, "wrap")),
    "integer_power": ("integer_power", [np.int32([3, -2, 7]), np.int64([4, 3, 0])], {}, np.int32([81, -8, 1])),
    "empty": ("empty", [np.zeros((2, 0), np.float32)], {"shape": (0, 3)}, np.zeros((0, 3), np.float32)),
    "identity": ("identity", [SQUARE], {}, SQUARE),
    "conv over three": (
        "nn.conv", [X[:, :1, None], small(2, 1, 1, 3, 3)],
        {"strides": (1, 2, 1), "padding": ((0, 1, 1), (0, 1, 0)), "dilation": (1, 1, 1)},
        conv(X[:, :1], small(2, 1, 1, 3, 3)[:, :, 0], (2, 1), (1, 1, 1, 0))[:, :, None],
    ),
    "max_pool over three": (
        "nn.max_pool", [X[:, :, None]],
        {"pool_size": (1, 3, 3), "strides": (1, 2, 2), "padding": ((0, 1, 1), (0, 1, 1)), "dilation": (1, 1, 1)},
        pool(X, 3, 2, 1, np.max, -np.inf)[:, :, None],
    ),
    "avg_pool over three": (
        "nn.avg_pool", [X[:, :, None]],
        {"pool_size": (1, 3, 3), "strides": (1, 2, 2), "padding": ((0, 1, 1), (0, 1, 1)), "dilation": (1, 1, 1),
         "count_include_pad": True},
        pool(X, 3, 2, 1, np.mean, 0)[:, :, None],
    ),
    "minimum": ("minimum", [SQUARE, SQUARE.T], {}, np.minimum(SQUARE, SQUARE.T)),
    "tanh": ("tanh", [SQUARE], {}, np.tanh(SQUARE)),
    "sqrt": ("sqrt", [POSITIVE], {}, np.sqrt(POSITIVE)),
    "gelu": ("nn.gelu", [np.array([-1, 0, 2], np.float32)], {}, np.array([-0.15865526, 0, 1.9544997], np.float32)),
}  # fmt: skip


def results(op: str, arrays: list[Array], attrs: dict[str, Any]) -> list[Array]:
    func = legalize(op, [TensorType(a.shape, str(a.dtype)) for a in arrays], attrs)
    made = [np.zeros([e.value for e in b.shape], str(b.dtype)) for b in func.buffers[len(arrays) :]]  # type: ignore[attr-defined]
    build(Schedule(func), threads=1)(*map(np.ascontiguousarray, arrays), *made)
    return made


@pytest.mark.sample(7)
@pytest.mark.parametrize("name", CASES)
def test_operators_compute_what_numpy_does(name: str) -> None:
    op, arrays, attrs, expected = CASES[name]
    wanted = expected if isinstance(expected, list) else [np.asarray(expected)]
    for got, want in zip(results(op, arrays, attrs), wanted, strict=True):
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("op", "shapes", "attrs", "message"),
    [
        ("nn.conv2", [(1, 4, 7, 6)], {}, "there is no operator nn.conv2; did you mean nn.conv2d"),
        ("nn.conv2d", [(1, 4, 7, 6)], {}, "takes x, w, bias; 1 tensors are given"),
        ("nn.conv2d", [(1, 4, 7, 6), (6, 4, 3, 3)], {"stride": 2}, "has no attribute stride; it has strides, padding"),
        ("nn.conv2d", [(1, 4, 7, 6), (6, 3, 3, 3)], {}, "do not fit weights of shape"),
        ("nn.conv2d", [(1, 4, 7, 6), (6, 4, 9, 3)], {}, "a window of 9 does not fit in 7"),
        ("nn.conv2d", [(4, 7, 6), (6, 4, 9, 3)], {}, "x has 4 dimensions, not 3"),
        ("nn.conv2d", [(1, 4, 7, 6), (6, 4, 3, 3)], {"strides": (0, 1)}, "strides of conv2d is 2 numbers, 1 at least"),
        ("nn.max_pool2d", [(1, 4, 7, 6)], {}, "needs pool_size"),
        ("add", [(2, 3), (4,)], {}, "do not go together"),
        ("matmul", [(2, 3), (2, 3)], {}, "is multiplied by one of 2 x 3"),
        ("reshape", [(2, 3)], {"shape": (4, 2)}, "cannot take the shape"),
        ("reshape", [(2, 3)], {"shape": (-1, -1)}, "only one extent may be left open"),
        ("concat", [(2, 3), (2, 4)], {"axis": 0}, "do not go together along axis 0"),
        ("split", [(2, 3)], {"axis": 1, "sections": 2}, "do not make 2 equal parts"),
        ("permute_dims", [(2, 3)], {"axes": (0, 0)}, "is not a permutation of 2 dimensions"),
        ("sum", [(2, 3)], {"axis": [2]}, "there is no axis 2 among 2"),
        ("squeeze", [(2, 3)], {"axis": [0]}, "only dimensions of extent 1 go away"),
    ],
)
def test_what_operators_do_not_take(
    op: str, shapes: list[tuple[int, ...]], attrs: dict[str, Any], message: str
) -> None:
    g = GraphBuilder()
    inputs = [g.input(f"x{k}", s) for k, s in enumerate(shapes)]
    with pytest.raises(GraphError, match=message):
        g.op(op, *inputs, source="node_7", **attrs)


def test_every_operator_has_a_summary_and_most_a_case() -> None:
    assert all(o.summary for o in OPERATORS.values())
    tried = {op for op, *_ in CASES.values()} | {"layout_transform", "pad", "crop"}  # these in test_text_and_execution
    assert len(set(OPERATORS) - tried) < 25, sorted(set(OPERATORS) - tried)


def test_types_are_told() -> None:
    g = GraphBuilder()
    x = g.input("x", (1, 4, 7, 6))
    y = g.op("nn.conv2d", x, g.constant(W, "w"), strides=(2, 2), padding=(1, 1, 1, 1))
    a, b = g.op("split", y, sections=2, axis=1, name="half")
    graph = g.finish(a, b)
    assert (y.shape, a.shape, b.name) == ((1, 6, 4, 3), (1, 3, 4, 3), "half_1")
    assert [n.op for n in graph.nodes] == ["nn.conv2d", "split"]
    assert graph.consumers()[y] == [graph.nodes[1]]


def test_a_graph_is_checked() -> None:
    g, other = GraphBuilder(), GraphBuilder()
    x, y = g.input("x", (4,)), other.input("y", (4,))
    z = g.op("add", x, y)
    with pytest.raises(GraphError, match="uses y, which nothing before it computes"):
        g.finish(z)
    func = legalize("nn.relu", [TensorType((5,), "float32")], {})
    g = GraphBuilder()
    g.call_tir(func, [g.input("x", (4,))], [TensorType((4,), "float32")])
    with pytest.raises(GraphError, match="nn_relu takes x as float32"):
        g.finish()
