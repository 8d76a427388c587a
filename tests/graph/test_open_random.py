"""Random graphs of operators on open shapes: compiled once, they give the bits of the graph of each size."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tests.nightly import few
from verified_tir.graph import Graph, GraphBuilder, GraphError, Value
from verified_tir.graph.execute import build, evaluate
from verified_tir.graph.ir import with_sizes
from verified_tir.graph.sizes import normal, symbol, symbols_of
from verified_tir.graph.text import graph_text, parse_graph

SHAPES: list[tuple[int | str, ...]] = [("b", "s", 4), ("b", 4), ("b", "s"), ("s", "b", 2), ("b", 2, "s", "s")]
OTHERS: list[tuple[int | str, ...]] = [("b", "s", 4), ("s", 4), ("b", 1), (1, "s"), ("b", "s"), (4, "s")]
SIZES = ((1, 1), (2, 3), (3, 2), (4, 4), (1, 5), (0, 2), (2, 0), (0, 0))
OPERATORS = (
    "nn.relu", "add", "matmul", "weights", "nn.softmax", "sum", "mean", "max", "permute_dims", "halves", "merged",
    "apart", "concat", "strided_slice", "nn.pad", "expand_dims", "squeeze", "take", "cumsum", "tile", "flatten",
    "trilu", "broadcast_to", "nn.layer_norm",
)  # fmt: skip


def step(g: GraphBuilder, rnd: random.Random, values: list[Value]) -> Any:
    """One more value, of an operator that may not take what it is given."""
    name, x = rnd.choice(OPERATORS), rnd.choice(values)
    d, rank = list(x.dims), x.rank
    axis = rnd.randrange(rank)

    def weights(*shape: Any) -> Value:
        return g.constant(np.random.default_rng(rnd.randrange(99)).integers(-2, 3, shape).astype(np.float32))

    match name:
        case "add" | "matmul":
            attrs = {"transpose_b": rnd.random() < 0.5} if name == "matmul" else {}
            return g.op(name, x, rnd.choice(values), **attrs)
        case "weights":
            return g.op("matmul", x, weights(d[-1], rnd.choice([1, 3])))
        case "nn.softmax" | "cumsum":
            return g.op(name, x, axis=axis)
        case "sum" | "mean" | "max":
            return g.op(name, x, axis=tuple(rnd.sample(range(rank), rnd.randint(1, rank))), keepdims=rnd.random() < 0.5)
        case "permute_dims":
            return g.op(name, x, axes=tuple(rnd.sample(range(rank), rank)))
        case "halves":
            return g.op("reshape", x, shape=(*d[:axis], 2, -1, *d[axis + 1 :]))
        case "merged":
            return g.op("reshape", x, shape=(*d[:axis], normal(d[axis] * d[axis + 1]), *d[axis + 2 :]))
        case "apart":
            return g.op("reshape", x, shape=(*d[:axis], rnd.choice(symbols_of(d)), -1, *d[axis + 1 :]))
        case "concat":
            return g.op(name, x, rnd.choice([x, *values]), axis=axis)
        case "strided_slice":
            begin, end = rnd.choice([0, 1, -1, -2, 2]), rnd.choice([2**62, -1, 1, 3, -2, d[axis]])
            return g.op(name, x, axes=(axis,), begin=(begin,), end=(end,))
        case "nn.pad":
            return g.op(name, x, pad_width=tuple(rnd.choice([0, 0, 1]) for _ in range(2 * rank)))
        case "expand_dims":
            return g.op(name, x, axis=(rnd.randint(0, rank),))
        case "squeeze":
            return g.op(name, x, axis=(axis,))
        case "take":
            return g.op(name, x, g.constant(np.array(rnd.choice([[0, -1], [1], [2, 0, -2]]))), axis=axis)
        case "tile":
            return g.op(name, x, repeats=tuple(rnd.choice([1, 1, 2]) for _ in d))
        case "flatten":
            return g.op(name, x, axis=rnd.randint(0, rank))
        case "trilu":
            return g.op(name, x, k=rnd.choice([-1, 0, 1]))
        case "broadcast_to":
            return g.op(name, x, shape=(rnd.choice([*symbols_of(d), 2]), *d))
        case "nn.layer_norm":
            return g.op(name, x, weights(d[-1]), weights(d[-1]))
    return g.op(name, x)


def random_graph(seed: int) -> Graph:
    rnd = random.Random(seed)
    g = GraphBuilder()
    values = [g.input("x", rnd.choice(SHAPES)), g.input("y", rnd.choice(OTHERS)), g.input("z", ("b", "s"))]
    while len(values) < 3 + rnd.randint(2, 6):
        try:
            made = step(g, rnd, values)
        except (GraphError, ValueError, IndexError, TypeError):  # numpy's, of shapes that are no numbers
            continue
        if 1 <= made.rank <= 5:
            values.append(made)
    return g.finish(*values[-3:]) if len(values) > 5 else g.finish(*values[3:])


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(few(4, 200)))
def test_random_graphs(seed: int) -> None:
    graph = random_graph(seed)
    text = graph_text(graph)
    names = {v.name: a for v, a in graph.constants.items()}
    assert graph_text(parse_graph(text, names)) == text
    try:
        f = build(graph)
    except GraphError as refused:
        assert "the size of no dimension here is" in str(refused), text
        return
    for b, s in SIZES:
        numbers = with_sizes(graph, {"b": b, "s": s}) if b and s else graph
        rng = np.random.default_rng(seed)
        at = {symbol("b"): b, symbol("s"): s}
        arrays = [rng.integers(-3, 4, v.type.at(at).shape).astype(np.float32) for v in graph.inputs]
        for got, want in zip(f.run(arrays), evaluate(numbers, arrays), strict=True):
            assert got.shape == want.shape and np.array_equal(got, want, equal_nan=True), (b, s, text)
