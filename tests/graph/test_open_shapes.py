"""Operators on shapes that are open: one program for all sizes gives the bits of the program of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from verified_tir.graph import Graph, GraphBuilder, GraphError
from verified_tir.graph.execute import build, evaluate
from verified_tir.graph.memory import place
from verified_tir.graph.sizes import symbol
from verified_tir.graph.text import graph_text, parse_graph
from verified_tir.ir.expr import Var

Make = Callable[..., Any]
Shape = tuple[Any, ...]
ENDLESS = 2**63 - 1
SIZES = [{"b": b, "s": s} for b, s in ((0, 3), (1, 1), (2, 3), (3, 0), (7, 2))]
INDICES = np.array([0, -1, 5], np.int64)
TABLE = np.arange(15, dtype=np.float32).reshape(5, 3)


def op(name: str, **attrs: Any) -> Make:
    return lambda g, *x: g.op(name, *x, **attrs)


def image(name: str, *shapes: Shape, **attrs: Any) -> tuple[Make, tuple[Shape, ...]]:
    return op(name, **attrs), (("b", 2, 5, 5), *shapes)


def rows(name: str, *shapes: Shape, **attrs: Any) -> tuple[Make, tuple[Shape, ...]]:
    return op(name, **attrs), (("b", "s", 4), *shapes)


CASES: dict[str, tuple[Make, tuple[Shape, ...]]] = {
    "relu": rows("nn.relu"),
    "add": rows("add", ("s", 1)),
    "matmul by weights": rows("matmul", (4, 3)),
    "matmul over a symbol": rows("matmul", ("b", "s", 2), transpose_a=True),
    "dense": (op("nn.dense"), (("b", 4), (3, 4))),
    "softmax": rows("nn.softmax"),
    "softmax over a symbol": rows("nn.softmax", axis=1),
    "log_softmax over a symbol": rows("nn.log_softmax", axis=0),
    "layer_norm": rows("nn.layer_norm", (4,), (4,)),
    "sum": rows("sum", axis=(1,)),
    "mean of symbols": rows("mean", axis=(0, 1)),
    "mean of numbers": rows("mean", axis=(-1,), keepdims=True),
    "max": rows("max", axis=(0,)),
    "prod of all": rows("prod"),
    "batch_norm": ((lambda g, x, a, b, c: g.op("nn.batch_norm", x, a, b, c, g.op("abs", c))),
                   (("b", 2, 5, 5), (2,), (2,), (2,))),
    "conv2d": image("nn.conv2d", (3, 2, 3, 3), padding=(1, 1, 1, 1)),
    "conv": image("nn.conv", (3, 2, 3, 3), strides=(2, 2), padding=((1, 0), (0, 1)), dilation=(1, 1)),
    "conv2d_transpose": image("nn.conv2d_transpose", (2, 3, 2, 2), strides=(2, 2)),
    "max_pool2d": image("nn.max_pool2d", pool_size=(2, 2), strides=(2, 2)),
    "avg_pool2d": image("nn.avg_pool2d", pool_size=(2, 2), strides=(2, 2), padding=(1, 1, 1, 1)),
    "global_avg_pool2d": image("nn.global_avg_pool2d"),
    "lrn": image("nn.lrn", size=1),
    "upsampling": image("nn.upsampling"),
    "permute_dims": rows("permute_dims", axes=(2, 0, 1)),
    "concat": rows("concat", ("b", 2, 4), axis=1),
    "split": ((lambda g, x, y: g.op("split", g.op("concat", x, y, axis=0), sections=(x.dims[0],), axis=0)[1]),
              (("b", 4), ("s", 4))),
    "slice of numbers": rows("strided_slice", axes=(2,), begin=(3,), end=(0,), strides=(-2,)),
    "all but the last": rows("strided_slice", axes=(1,), begin=(0,), end=(-1,)),
    "all but the first": rows("strided_slice", axes=(1,), begin=(1,), end=(ENDLESS,)),
    "the last two": rows("strided_slice", axes=(1,), begin=(-2,), end=(ENDLESS,)),
    "the last but one": rows("strided_slice", axes=(1,), begin=(-2,), end=(-1,)),
    "the first two": rows("strided_slice", axes=(1,), begin=(0,), end=(2,)),
    "pad": rows("nn.pad", pad_width=(1, 0, 0, 2, 0, 0), pad_value=2.0),
    "reflect": rows("nn.pad", pad_width=(0, 0, 0, 0, 1, 2), pad_mode="reflect"),
    "take rows": ((lambda g, x: g.op("take", g.constant(TABLE), g.op("astype", x, dtype="int64"))), (("b", "s"),)),
    "broadcast_to": ((lambda g, x: g.op("broadcast_to", g.constant(TABLE[:1]), shape=(x.dims[0], 3))), (("b", 2),)),
    "trilu": (op("trilu", k=1), (("b", "s", "s"),)),
    "cumsum": rows("cumsum", axis=1),
    "tile": rows("tile", repeats=(2, 1, 2)),
    "argmax": rows("argmax", axis=2),
    "expand and squeeze": ((lambda g, x: g.op("squeeze", g.op("expand_dims", x, axis=(0, 3)), axis=(0,))),
                           (("b", "s"),)),
    "flatten": rows("flatten", axis=1),
    "heads": rows("reshape", shape=(0, 0, 2, -1)),
    "all together": rows("reshape", shape=(-1,)),
    "and apart": ((lambda g, x: g.op("reshape", g.op("nn.relu", g.op("reshape", x, shape=(-1, 4))),
                                     shape=(x.dims[0], -1, 2, 2))), (("b", "s", 4),)),
    "halves": ((lambda g, x: g.op("nn.relu", g.op("reshape", g.op("flatten", x, axis=2), shape=(-1, 2)))),
               (("b", "s", 4),)),
}  # fmt: skip


def made(make: Make, shapes: tuple[Shape, ...], sizes: dict[str, int] | None = None) -> Graph:
    """The graph of a case; of numbers, with sizes."""
    g = GraphBuilder()
    inputs = [g.input(f"x{k}", [(sizes or {}).get(e, e) for e in shape]) for k, shape in enumerate(shapes)]
    return g.finish(make(g, *inputs))


def arrays_of(graph: Graph, sizes: dict[str, int]) -> list[Any]:
    rng = np.random.default_rng(0)
    at = {symbol(name): n for name, n in sizes.items()}
    return [rng.integers(-3, 4, v.type.at(at).shape).astype(np.float32) for v in graph.inputs]


@pytest.mark.sample(3)
@pytest.mark.parametrize("case", CASES)
def test_one_program_for_all_sizes(case: str) -> None:
    graph = made(*CASES[case])
    assert graph_text(parse_graph(graph_text(graph), {"const": TABLE})) == graph_text(graph)
    f = build(graph)
    assert not f.refused
    for sizes in SIZES:
        arrays = arrays_of(graph, sizes)
        if "reshape" in str(graph) and 0 in sizes.values():  # of no elements, an extent -1 might be any number
            assert f(*arrays).size == evaluate(graph, arrays)[0].size == 0
            continue
        (want,) = evaluate(made(*CASES[case], sizes), arrays)
        assert np.array_equal(f(*arrays), want, equal_nan=True), sizes
        assert np.array_equal(evaluate(graph, arrays)[0], want, equal_nan=True), sizes


def test_an_element_of_an_axis_that_is_open() -> None:
    g = GraphBuilder()
    graph = g.finish(g.op("take", g.input("x", ("b", 2)), g.constant(INDICES)))
    f = build(graph)
    for n in (1, 2, 7):
        x = np.arange(2 * n, dtype=np.float32).reshape(n, 2)
        assert np.array_equal(f(x), x[[0, n - 1, min(5, n - 1)]])
    assert np.array_equal(f(np.ones((0, 2), np.float32)), np.zeros((3, 2)))


REFUSED: dict[str, tuple[Make, tuple[Shape, ...], str]] = {
    "add": (op("add"), (("b", 4), ("s", 4)),
            r"\(s, 4\) go together only if b and s are equal, or 1; give the size: --shape b=4, --shape s=4$"),
    "matmul": (op("matmul"), (("b", "s"), (4, 3)),
               r"b x s is multiplied by one of 4 x 3, and s may not be 4; give the size: --shape s=4"),
    "reshape": (op("reshape", shape=(-1, 8)), (("b", "s", 4),), r"\(b, s, 4\) cannot take the shape \(-1, 8\); give"),
    "to numbers": (op("reshape", shape=(3, 4)), (("b", 4),), r"\(b, 4\) cannot take the shape \(3, 4\)"),
    "squeeze": (op("squeeze"), (("b", 4),), r"the shape \(b, 4\) of x is open, and must be numbers here"),
    "squeeze of a symbol": (op("squeeze", axis=(0,)), (("b", 4),), "only dimensions of extent 1 go away"),
    "concat": (op("concat", axis=1), (("b", 4), ("s", 4)), "do not go together along axis 1; give the size"),
    "split": (op("split", sections=2, axis=0), (("b", 4),), r"\(b,\) of x along its axis 0 is open"),
    "split at a place": (op("split", sections=(2,), axis=0), (("b", 4),), r"places \(2,\) do not ascend within b"),
    "slice": (op("strided_slice", axes=(0,), begin=(0,), end=(8,), strides=(2,)), (("b", 4),), "a stride of 1 only"),
    "argmax": (op("argmax", axis=0), (("b", 4),), r"\(b,\) of x along its axis 0 is open"),
    "topk": (op("topk", k=1, axis=0), (("b", 4),), r"\(b,\) of x along its axis 0 is open"),
    "einsum": (op("einsum", equation="ij,jk->ik"), (("b", "s"), (4, 3)),
               "j is s and 4 in .*; give the size: --shape s=4"),
    "gather_elements": (op("gather_elements", axis=1), (("b", 4), ("s", 4)), r"of shape \(s, 4\) do not fit \(b, 4\)"),
    "pool": (op("nn.max_pool2d", pool_size=(2, 2)), (("b", 2, "s", 4),), "dimensions of x behind the first is open"),
    "channels": (op("nn.conv2d"), (("b", "s", 4, 4), (3, 2, 1, 1)), r"\(s, 4, 4\).* is open"),
    "reflect": (op("nn.pad", pad_width=(1, 0, 0, 0), pad_mode="reflect"), (("b", 4),), "padded with elements is open"),
    "expand": (op("broadcast_to", shape=(3, 4)), (("b", 4),), "b and 3 are equal, or 1"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_depends_on_the_size_is_refused(case: str) -> None:
    make, shapes, message = REFUSED[case]
    with pytest.raises(GraphError, match=message):
        made(make, shapes)


def test_a_size_that_no_array_shows_is_refused() -> None:
    g = GraphBuilder()
    x, n = g.input("x", ("b", 1)), symbol("b")
    y = g.op("sum", g.op("reshape", g.op("broadcast_to", x, shape=(n, n)), shape=(-1,)), axis=(0,))
    assert build(g.finish(y))(np.full((3, 1), 2, np.float32)) == 18  # b * b alone will do
    g = GraphBuilder()
    x, y = g.input("x", ("b", 3)), g.input("y", ("s", 3))
    both = g.op("concat", x, y)
    graph = g.finish(g.op("strided_slice", both, axes=(0,), begin=(n,), end=(2 * n,)))
    with pytest.raises(GraphError, match="the size of no dimension here is b; give the size: --shape b=4"):
        build(graph)


def test_calls_whose_sizes_do_not_go_together_are_refused() -> None:
    g = GraphBuilder()
    x, y = g.input("x", ("b", "s")), g.input("y", ("s", 2))
    f = build(g.finish(g.op("matmul", x, y)))

    def zeros(*shape: int) -> Any:
        return np.zeros(shape, np.float32)

    assert f(zeros(5, 3), zeros(3, 2)).shape == (5, 2)
    for arrays, message in (
        (
            [zeros(5, 3), zeros(4, 2)],
            r"the input y is float32\[4, 2\], not R.Tensor\(\(s, 2\), \"float32\"\) where s = 3",
        ),
        ([zeros(5, 3), zeros(3, 3)], r"the input y is float32\[3, 3\], not .* where s = 3"),
        ([zeros(5), zeros(3, 2)], r"the input x is float32\[5\], not R.Tensor\(\(b, s\), \"float32\"\)"),
        ([zeros(5, 3).astype(int), zeros(3, 2)], r"the input x is int64\[5, 3\]"),
    ):
        with pytest.raises(GraphError, match=message):
            f(*arrays)


def test_memory_is_made_for_each_size() -> None:
    g = GraphBuilder()
    x = g.input("x", ("b", 16))
    graph = g.finish(g.op("exp", g.op("tanh", g.op("nn.relu", x))))
    f = build(graph)
    for n in (3, 1, 4, 1, 5, 9, 2, 6):
        assert np.array_equal(f(np.zeros((n, 16), np.float32)), np.ones((n, 16), np.float32))
    b = symbol("b")
    assert place(graph, {b: 4}).nbytes == 4 * place(graph, {b: 1}).nbytes == 2 * 4 * 64
    with pytest.raises(GraphError, match="the size b is not known"):
        f.placement  # noqa: B018
    g = GraphBuilder()
    f = build(g.finish(g.op("matmul", g.input("x", ("b", 1)), g.input("y", (1, "s")))))
    assert f(np.ones((3, 1), np.float32), np.ones((1, 2), np.float32)).shape == (3, 2)
    with pytest.raises(GraphError, match=r"main needs 3725\.\d GiB of memory, .* the largest tensor is lv"):
        f(np.ones((10**6, 1), np.float32), np.ones((1, 10**6), np.float32))


def test_programs_with_symbols_of_their_own() -> None:
    text = """@T.prim_func
def twice(x: T.Buffer(("m", 2), "float32"), y: T.Buffer((m, 2), "float32")):
    for i, j in T.grid(m, 2):
        y[i, j] = x[i, j] + x[i, j]

@R.function
def main(x: R.Tensor((b, s, 2), "float32")):
    flat = R.reshape(x, shape=(-1, 2))
    y = R.call_tir(twice, (flat,), out_sinfo=R.Tensor((b * s, 2), "float32"))
    return y"""
    graph = parse_graph(text)
    (call,) = [n for n in graph.nodes if n.func is not None]
    assert all(isinstance(e, Var) for e in call.func.buffers[0].shape[:1])  # type: ignore[union-attr]
    x = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    assert np.array_equal(build(graph)(x), 2 * x.reshape(6, 2))
    for old, new, message in (
        ("(b * s, 2)", "(s, 2)", r"twice has the extent m where s is given"),
        ("(b * s, 2)", "(b * s, 3)", r"twice takes y as float32\(m, 2\), and y is R.Tensor\(\(b \* s, 3\)"),
        ("(b * s, 2)", "(b * t, 2)", "t is neither a constant nor the extent of an input"),
    ):
        with pytest.raises(GraphError, match=message):
            parse_graph(text.replace(old, new))
