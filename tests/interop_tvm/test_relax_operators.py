"""Each operator that a module of Relax is read with computes what it does in TVM, for NaN, zeros and infinities too.

So does what is written for TVM, whether it keeps the name of its operator or is a call of its program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
import tvm.script
from tvm import relax
from tvm_ffi import structural_equal

from verified_tir.graph import Graph, GraphBuilder, GraphError
from verified_tir.graph.execute import build
from verified_tir.graph.relax_operators import _READ, COMPARING, SAME
from verified_tir.graph.text import graph_text, parse_graph
from verified_tir.graph.tvm_modules import graph_of
from verified_tir.graph.write_relax import relax_text

RNG = np.random.default_rng(7)
HEAD = "# from tvm.script import ir as I\n# from tvm.script import relax as R\n# from tvm.script import tirx as T\n"
SPECIAL = np.array(
    [np.nan, -0.0, 0.0, 1.5, -2.5, np.inf, -np.inf, 7.25, 0.5, -0.5, 3.0, -1.0, 2.5, np.nan, -0.0], np.float32
)


def special(*shape: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Numbers of which many are NaN, infinite or zeros."""
    return np.where(RNG.random(shape) < 0.5, RNG.choice(SPECIAL, shape), RNG.standard_normal(shape)).astype(np.float32)


def floats(*shape: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    return (3 * RNG.standard_normal(shape)).astype(np.float32)


def integers(*shape: int) -> np.ndarray[Any, np.dtype[np.int32]]:
    return RNG.integers(-9, 10, shape).astype(np.int32)


def truths(*shape: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return RNG.integers(0, 2, shape).astype(np.bool_)


_UNARY = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "ceil", "cos", "cosh", "erf", "exp", "floor", "isinf",
    "isnan", "log", "max", "min", "negative", "nn.gelu", "nn.gelu_tanh", "nn.log_softmax", "nn.relu", "nn.silu",
    "nn.softmax", "nn.softplus", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "flatten",
    "permute_dims", "squeeze", "prod", "sum", "mean",
]  # fmt: skip
_COMPARISONS = [
    "less", "less_equal", "greater", "greater_equal", "equal",
]  # fmt: skip
_BINARY = [
    "add", "subtract", "multiply", "divide", "maximum", "minimum", "power",
]  # fmt: skip

CASES: dict[str, tuple[list[Any], list[str]]] = {
    "of one": ([special(6, 6)], [f"R.{op}(x)" for op in _UNARY] + ["R.nn.leakyrelu(x, 0.2)"]),
    "of one that is finite": ([floats(6, 6)], ["R.tanh(x)", "R.atanh(R.clip(x, -0.9, 0.9))", 'R.astype(x, "int32")']),
    "of two": ([special(6, 6), special(6, 6)], [f"R.{op}(x, y)" for op in (*_BINARY, *_COMPARISONS)]),
    "of integers": (
        [integers(6, 6), np.array([[k or 4 for k in range(-3, 3)]] * 6, np.int32)],
        [f"R.{op}(x, y)" for op in (*_BINARY[:-1], *_COMPARISONS, "mod", "bitwise_and", "bitwise_or", "bitwise_xor")]
        + [f"R.{op}(x)" for op in ("abs", "negative", "sign", "max", "nn.relu", "sum", "bitwise_not")]
        + ["R.argmax(x, axis=1)", "R.argmin(x, axis=0, keepdims=True)", "R.cumsum(x, axis=1)", "R.clip(x, -3, 3)"],
    ),
    "of truths": (
        [truths(6, 6), truths(6, 6)],
        [f"R.{op}(x, y)" for op in ("logical_and", "logical_or", "bitwise_and", "bitwise_xor")] + ["R.logical_not(x)"],
    ),
    "along axes": (
        [special(6, 7)],
        [f"R.{op}(x, axis={a})" for op in ("max", "min", "sum", "mean") for a in ("0, keepdims=True", "1")]
        + ["R.nn.softmax(x, axis=0)", "R.clip(x, -0.5, 0.5)", "R.clip(x, 0.0, 6.0)"],
    ),
    "elements moved": (
        [special(6, 6), np.array([0, 3, 5], np.int64)],
        [
            "R.concat((x, x), axis=1)", "R.reshape(x, (4, -1))", "R.expand_dims(x, axis=[1])", "R.take(x, y, axis=1)",
            "R.broadcast_to(x, (2, 6, 6))", "R.layout_transform(x, index_map=lambda i, j: (j, i))",
            "R.strided_slice(x, axes=[0, 1], begin=[1, -1], end=[5, -7], strides=[2, -2])", "R.where(R.isnan(x), x, x)",
            'R.nn.pad(x, pad_width=(1, 1, 2, 2), pad_mode="reflect")',
            "R.nn.pad(x, pad_width=(1, 1, 0, 2), pad_value=2.0)",
            "R.tile(x, repeats=[2, 1])", "R.split(x, 2, axis=1)[1]", 'R.astype(x, "float16")',
        ],
    ),
    "gathered": ([special(6, 6), RNG.integers(0, 6, (6, 6))], ["R.gather_elements(x, y, axis=1)"]),
    "products": (
        [floats(1, 2, 6, 6), floats(3, 2, 3, 3), floats(2, 3, 3, 3), floats(6)],
        [
            "R.nn.conv2d(x, y, strides=2, padding=[0, 1, 2, 3])", "R.nn.conv2d(x, y, padding=(1, 2), dilation=2)",
            "R.nn.conv2d_transpose(x, z)", "R.matmul(x, x)", "R.nn.layer_norm(x, w, w, axes=[-1])",
        ],
    ),
    "windows": (
        [special(1, 2, 7, 7)],
        [
            "R.nn.max_pool2d(x, pool_size=[3, 3])", "R.nn.max_pool2d(x)", "R.nn.avg_pool2d(x, pool_size=[3, 3])",
            "R.nn.max_pool2d(x, pool_size=[3, 3], padding=[1, 1, 1, 1], strides=[2, 2])",
            "R.nn.max_pool2d(x, pool_size=[2, 2], strides=[2, 2], ceil_mode=True)",
            "R.nn.avg_pool2d(x, pool_size=[3, 3], padding=[1, 1, 1, 1], strides=[2, 2], ceil_mode=True)",
        ],
    ),
}  # fmt: skip


def text_of(arrays: list[Any], calls: list[str]) -> str:
    """A module of Relax whose results are those of the calls."""
    types = [f'R.Tensor([{", ".join(map(str, a.shape))}], "{a.dtype}")' for a in arrays]
    given = ", ".join(f"{n}: {t}" for n, t in zip("xyzw", types, strict=False))
    lines = [
        f"v{k} = {c}" if not c.endswith("[1]") else f"s{k} = {c[:-3]}; v{k} = s{k}[1]" for k, c in enumerate(calls)
    ]
    lines = [line for several in lines for line in several.split("; ")]
    names = ", ".join(f"v{k}" for k in range(len(calls)))
    body = "".join(f"            {line}\n" for line in [*lines, f"R.output({names})"])
    return (
        f"{HEAD}\n@I.ir_module\nclass Module:\n    @R.function\n    def main({given}):\n"
        f"        with R.dataflow():\n{body}        return ({names},)\n"
    )


def in_tvm(module: Any, arrays: list[Any]) -> list[Any]:
    """What TVM computes of a module."""
    vm = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
    found = vm["main"](*[tvm.runtime.tensor(a) for a in arrays])
    return [found.numpy()] if hasattr(found, "numpy") else [t.numpy() for t in found]


def here(graph: Graph, arrays: list[Any]) -> list[Any]:
    found = build(graph)(*arrays)
    return list(found) if isinstance(found, (tuple, list)) else [found]


def agree(found: list[Any], expected: list[Any], calls: list[str]) -> None:
    """The same types, the same numbers up to rounding, the same NaN, and zeros of the same sign."""
    for a, b, call in zip(found, expected, calls, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), call
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5, err_msg=call)
        zeros = (a == 0) & (b == 0)
        assert a.dtype.kind != "f" or (np.signbit(a[zeros]) == np.signbit(b[zeros])).all(), call


@pytest.mark.parametrize("which", CASES)
def test_what_is_read_computes_what_tvm_does(which: str) -> None:
    arrays, calls = CASES[which]
    module = tvm.script.from_source(text_of(arrays, calls))
    expected, compiled = in_tvm(module, arrays), [module]
    for graph in (parse_graph(text_of(arrays, calls)), graph_of(module)):
        agree(here(graph, arrays), expected, calls)
        assert graph_text(parse_graph(graph_text(graph))) == graph_text(graph)
        written = tvm.script.from_source(relax_text(graph))
        if not any(structural_equal(written, other) for other in compiled):  # the same module computes the same
            agree(in_tvm(written, arrays), expected, calls)
            compiled.append(written)


def test_every_operator_that_is_read_is_among_the_cases() -> None:
    said = {op for _, calls in CASES.values() for c in calls for op in _READ if f"R.{op}(" in c}
    assert _READ - said <= {"nn.leaky_relu"} and SAME | COMPARING <= _READ  # TVM 0.27 calls it leakyrelu


def _pool(g: GraphBuilder, x: Any) -> Any:
    return g.op("nn.max_pool2d", g.op("reshape", x, shape=(1, 1, 6, 6)), pool_size=(2, 2))


OWN: dict[str, Callable[[GraphBuilder, Any, Any], Any]] = {
    **{op: lambda g, x, y, op=op: g.op(op, x) for op in ("nn.relu", "sign", "max", "min", "isnan", "argmax", "argmin")},
    **{op: lambda g, x, y, op=op: g.op(op, x, y) for op in ("maximum", "minimum")},
    "clip": lambda g, x, y: g.op("clip", x, min=0.0, max=6.0),
    "max along an axis": lambda g, x, y: g.op("max", x, axis=(1,)),
    "nn.max_pool2d": lambda g, x, y: _pool(g, x),
    "topk": lambda g, x, y: g.op("topk", x, k=3)[1],
    "astype": lambda g, x, y: g.op("astype", x, dtype="int32"),
    "compared": lambda g, x, y: g.op("nn.relu", x, by_comparison=True),
}


def test_what_is_written_for_tvm_computes_the_same_there() -> None:
    g = GraphBuilder()
    x, y = g.input("x", (6, 6)), g.input("y", (6, 6))
    graph = g.finish(*(make(g, x, y) for make in OWN.values()))
    arrays = [special(6, 6), special(6, 6)]
    text = relax_text(graph)
    assert text.count("R.nn.relu(") == 1  # by comparison
    agree(in_tvm(tvm.script.from_source(text), arrays), here(graph, arrays), list(OWN))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("R.topk(x, k=2)", "its places are of int32 there"),
        ("R.nn.dropout(x)", "it has two results there"),
        ("R.nn.batch_norm(x, x, x, x, x, axis=1)", "three results there, and takes mean and variance from its input"),
        ("R.nn.prelu(x, x)", "the slope belongs to an axis there"),
        ("R.argmax(x, axis=1)", "it finds another place there if there is a NaN"),
        ("R.argmax(i)", "without an axis it is that of all elements"),
        ("R.take(x, i)", "without an axis it is that of all elements"),
        ("R.cumsum(i)", "without an axis it is that of all elements"),
        ("R.nn.pad(x, pad_width=(1, 1, 1, 1), pad_mode='edge')", "TVM computes other values than 'edge' says"),
        ("R.mod(x, x)", "the remainder of floats is not known here"),
        ("R.cumsum(x, axis=0)", "sums may be -0.0 there"),
        (
            "R.nn.hard_swish(x)",
            r"no operator here is known to compute what it does in TVM; relax.transform.LegalizeOps",
        ),
    ],
)
def test_what_is_not_known_to_be_the_same_is_refused(call: str, words: str) -> None:
    text = text_of([special(6, 6), integers(6, 6)], [call.replace("i)", "y)").replace("(i", "(y")])
    with pytest.raises(GraphError, match=words):
        parse_graph(text)
