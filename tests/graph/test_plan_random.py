"""Random graphs: the choice is the best of all, and the planned graph gives the same bits as the graph before."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from verified_tir import IndexMap
from verified_tir.graph import Graph, GraphBuilder, Node, TensorType, Value
from verified_tir.graph.annotate import Annotations
from verified_tir.graph.choose import bytes_moved, choose, cost_of, rewrites
from verified_tir.graph.execute import evaluate
from verified_tir.graph.fold import fold_rewrites
from verified_tir.graph.layouts import PLAIN, serves
from verified_tir.graph.options import Option, Options
from verified_tir.graph.plan import Plan, plan

CALM = settings(
    derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=40
)

TEXTS = [PLAIN, "a", "a padded with 0.0", "b"]


@st.composite
def chosen_among(draw: st.DrawFn) -> tuple[Graph, dict[Node, list[Option]], dict[tuple[Node, Option], float]]:
    """A graph whose nodes have random options, among them layouts with a value in their padding; and own costs."""
    g = GraphBuilder()
    values = [g.input("x", (draw(st.integers(1, 5)),)), g.constant(np.ones(2, np.float32))]
    for _ in range(draw(st.integers(1, 5))):
        operands = draw(st.lists(st.sampled_from(values), min_size=1, max_size=3))
        size = draw(st.integers(1, 9))
        results = g.add(
            "split", operands, [TensorType((size,), "float32")] * draw(st.integers(1, 2)), {}, None, "v", ""
        )
        values += results if isinstance(results, tuple) else [results]
    graph = g.finish(*draw(st.lists(st.sampled_from(values[2:]), min_size=1, max_size=3, unique=True)))
    texts = st.sampled_from(TEXTS)
    options = {
        n: draw(
            st.lists(
                st.builds(Option, st.tuples(*[texts] * len(n.inputs)), st.tuples(*[texts] * len(n.outputs))),
                min_size=1, max_size=3, unique=True,
            )
        )
        for n in graph.nodes
    }  # fmt: skip
    return graph, options, {(n, o): float(draw(st.integers(0, 9))) for n in graph.nodes for o in options[n]}


@pytest.mark.nightly
@CALM
@given(chosen_among())
def test_the_choice_is_the_best_of_all(drawn: Any) -> None:
    graph, options, own = drawn
    every = [dict(zip(graph.nodes, chosen, strict=True)) for chosen in itertools.product(*options.values())]
    found = choose(graph, options, own=lambda n, o: own[n, o])
    assert found.cost == min(cost_of(graph, c, own=lambda n, o: own[n, o]) for c in every)
    assert list(found.rewrites) == rewrites(graph, found.options)


@pytest.mark.nightly
@CALM
@given(chosen_among())
def test_with_its_rewrites_everybody_gets_what_he_reads(drawn: Any) -> None:
    graph, options, _ = drawn
    found = choose(graph, options)
    there: dict[Value, list[str]] = {v: [PLAIN] for v in graph.inputs}
    for v, text in found.rewrites:
        there.setdefault(v, []).append(text)
    for n in graph.nodes:
        for v, text in zip(n.outputs, found.options[n].outputs, strict=True):
            there.setdefault(v, []).append(text)
    wanted = [(v, t) for n in graph.nodes for v, t in zip(n.inputs, found.options[n].inputs, strict=True)]
    wanted += [(v, PLAIN) for v in graph.outputs]
    assert all(v in graph.constants or any(serves(t, text) for t in there[v]) for v, text in wanted)


# -- real operators ----------------------------------------------------------------------------------------------------

CHANNELS = st.integers(1, 6)


@st.composite
def models(draw: st.DrawFn, most: int = 5) -> Graph:
    """Convolutions, and what stands between them: element by element, pools, concatenations, moves, rewrites."""
    g = GraphBuilder()
    rng = np.random.default_rng(draw(st.integers(0, 3)))
    values = [g.input("x", (1, draw(CHANNELS), 2, 3))]

    def weights(*shape: int) -> Value:
        return g.constant(rng.standard_normal(shape).astype(np.float32), "w")

    for _ in range(draw(st.integers(2, most))):
        x = draw(st.sampled_from(values[-3:]))
        channels, (_, _, h, w) = x.shape[1], x.shape
        match draw(st.sampled_from(KINDS)):
            case "conv":
                more = [weights(o := draw(CHANNELS), channels, 1, 2), *([weights(o)] if draw(st.booleans()) else [])]
                y = g.op("nn.conv2d", x, *more, padding=(0, 0, 0, 1))
            case "depthwise":
                y = g.op("nn.conv2d", x, weights(channels, 1, 1, 1), groups=channels)
            case "pool":
                y = g.op("nn.max_pool2d", x, pool_size=(1, 2), padding=(0, 1, 0, 0))
            case "bias":
                y = g.op(draw(st.sampled_from(["add", "multiply"])), x, weights(channels, 1, 1))
            case "sum":
                same = [v for v in values if v.shape == x.shape]
                y = g.op("add", x, draw(st.sampled_from(same)))
            case "concat":
                fit = [v for v in values if v.shape[2:] == (h, w)]
                y = g.op("concat", x, draw(st.sampled_from(fit)), axis=1)
            case "shuffle":
                parts = draw(st.sampled_from([k for k in range(1, channels + 1) if channels % k == 0]))
                y = g.op("reshape", x, shape=(1, parts, channels // parts, h, w))
                y = g.op("reshape", g.op("permute_dims", y, axes=(0, 2, 1, 3, 4)), shape=x.shape)
            case "slice":
                y = g.op("strided_slice", x, axes=(1,), begin=(draw(st.integers(0, channels - 1)),), end=(channels,))
            case "rewrite":
                tile = draw(st.integers(1, 3))
                y = g.op(
                    "layout_transform", x, index_map=_tiles(tile), pad_value=draw(st.sampled_from([None, 0.0, 1.0]))
                )
                y = g.op("layout_transform", g.op("abs", y), index_map=_back(tile))
                y = g.op("crop", y, start_indices=(0, 0, 0, 0), slice_sizes=x.shape)
            case op:
                y = g.op(op, x)
        values.append(y)
    return g.finish(*draw(st.lists(st.sampled_from(values[1:]), min_size=1, max_size=2, unique=True)), values[-1])


KINDS = [
    "conv", "conv", "depthwise", "nn.relu", "sigmoid", "negative", "pool", "bias", "sum", "concat", "shuffle", "slice",
    "rewrite",
]  # fmt: skip


def _tiles(t: int) -> IndexMap:
    return IndexMap.from_func(lambda n, c, h, w: [n, c // t, h, w, c % t], 4)


def _back(t: int) -> IndexMap:
    return IndexMap.from_func(lambda n, o, h, w, i: [n, o * t + i, h, w], 5)


@st.composite
def planned(draw: st.DrawFn, most: int = 5) -> Plan:
    graph = draw(models(most))
    layout = draw(st.sampled_from(["NCHW2c", "NCHW4c", "NHWC", "NCHW2w"]))
    pad = draw(st.sampled_from(["large", "always", "never"]))
    value = draw(st.sampled_from([None, None, 0.0]))
    frozen = Annotations({"conv2d": layout}, pad=pad, pad_value=value).frozen(graph)  # type: ignore[arg-type]
    flow = draw(st.sampled_from(["backward", "forward"]))
    return plan(graph, frozen, flow=flow, fuse=draw(st.booleans()))  # type: ignore[arg-type]


def check(made: Plan) -> None:
    """The same bits, a proof for every change, and never more moved than around each frozen node alone."""
    arrays = [np.random.default_rng(5).standard_normal(v.shape).astype(np.float32) for v in made.before.inputs]
    for got, want in zip(evaluate(made.graph, arrays), evaluate(made.before, arrays), strict=True):
        np.testing.assert_array_equal(got, want)
    assert made.cost <= made.naive
    proved = {f.into for f in made.fused} | {*made.proofs} | {*made.relaid}
    assert all(n in proved or made.implements[n].op == n.op for n in made.graph.nodes)


@pytest.mark.nightly
@settings(CALM, max_examples=25)
@given(models(most=4), st.sampled_from(["backward", "forward"]), st.sampled_from([None, 0.0]), st.booleans())
def test_the_choice_is_the_best_for_models_too(graph: Graph, flow: Any, value: float | None, offloaded: bool) -> None:
    """Among all options that were found; convolutions have frozen layouts, or several of which one is to be taken."""
    frozen: dict[Node, Any] = {**Annotations({"conv2d": "NCHW2c"}, pad_value=value).frozen(graph)}
    if offloaded:
        nhwc = Annotations({"conv2d": "NHWC"}).frozen(graph)
        frozen = {n: [*(f if isinstance(f, list) else [f]), nhwc[n]] for n, f in frozen.items()}
    options = Options(graph, frozen, flow)
    some = {n: options.of[n][:4] for n in graph.nodes}
    if np.prod([len(o) for o in some.values()]) > 3000:
        return
    own = options.own(bytes_moved)
    every = (dict(zip(graph.nodes, chosen, strict=True)) for chosen in itertools.product(*some.values()))
    assert choose(graph, some, own=own).cost == min(cost_of(graph, c, own=own) for c in every)


@pytest.mark.nightly
@settings(CALM, max_examples=4)
@given(planned(most=4))
def test_planned_graphs_give_the_same_bits(made: Plan) -> None:
    check(made)


@settings(CALM, max_examples=5)
@given(models(most=3))
def test_folded_graphs_give_the_same_bits(graph: Graph) -> None:
    arrays = [np.random.default_rng(5).standard_normal(v.shape).astype(np.float32) for v in graph.inputs]
    for got, want in zip(evaluate(fold_rewrites(graph).graph, arrays), evaluate(graph, arrays), strict=True):
        np.testing.assert_array_equal(got, want)
