"""Layouts that pad: what padding may hold, who fills it, and that the planned graph gives the same bits."""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir import IndexMap, script
from verified_tir.graph import Graph, GraphBuilder, GraphError, Node, TensorType, Value
from verified_tir.graph.annotate import Annotations, padded_layout
from verified_tir.graph.conversions import conversions, prove_conversion
from verified_tir.graph.execute import evaluate
from verified_tir.graph.infer import infer
from verified_tir.graph.layouts import Layout, Padded, layout_text, serves, shape_in, whole_tiles
from verified_tir.graph.operators import legalize
from verified_tir.graph.plan import Plan, plan
from verified_tir.graph.relayout import Relaid, relayout

X = (1, 6, 3, 3)


def by(t: int) -> IndexMap:
    return IndexMap.from_func(lambda n, c, h, w: [n, c // t, h, w, c % t], 4)


NHWC = IndexMap.from_func(lambda n, c, h, w: [n, h, w, c], 4)


def moved(op: str, operands: float | None, results: float | None, count: int = 1) -> Relaid:
    """An operator on six channels in tiles of four, with what padding of operands and results holds."""
    func = legalize(op, [TensorType(X, "float32")] * count, {})
    maps = infer(func, {func.buffers[-1]: by(4)}).maps
    layouts: dict[object, Layout] = {b: Padded(m, operands) for b, m in maps.items()}
    layouts[func.buffers[-1]] = Padded(by(4), results)
    return relayout(func, layouts)  # type: ignore[arg-type]


@pytest.mark.nightly
@pytest.mark.parametrize(("op", "count"), [("nn.relu", 1), ("add", 2)])
def test_zeros_stay_zeros_and_nobody_stores_them(op: str, count: int) -> None:
    made = moved(op, 0.0, 0.0, count)
    assert not made.filled
    assert "T.assume" in script(made.func)  # proved by the kernel where the program ends
    assert "_padding" not in script(made.func)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("op", "operands", "results"),
    [("sigmoid", 0.0, 0.0), ("nn.relu", None, 0.0), ("negative", 0.0, 0.0)],
)
def test_what_does_not_come_out_by_itself_is_stored(op: str, operands: float | None, results: float) -> None:
    """The negative of 0.0 is -0.0, which is another element."""
    made = moved(op, operands, results)
    assert made.filled == (made.func.buffers[-1].name,)
    assert "_padding" in script(made.func)


def test_loops_over_elements_run_over_padding_that_may_hold_anything() -> None:
    made = moved("nn.relu", None, None)
    assert "if " not in script(made.func)


T4 = TensorType(X, "float32")
T3 = TensorType((1, 3, 2, 2), "float32")
ROOM = whole_tiles(by(4), T3.shape)


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("t", "given", "wanted", "ops"),
    [
        (T4, None, by(4), ["layout_transform"]),
        (T4, by(4), None, ["layout_transform", "crop"]),
        (T4, Padded(by(4), 0.0), None, ["layout_transform", "crop"]),
        (T4, NHWC, by(2), ["layout_transform"]),
        (T4, by(4), Padded(by(4), 0.0), ["layout_transform", "crop", "layout_transform"]),
        (T3, None, ROOM, ["pad", "layout_transform"]),
        (T3, ROOM, None, ["layout_transform", "crop"]),
        (T3, ROOM, by(2), ["layout_transform", "crop", "layout_transform"]),
    ],
)
def test_the_way_between_two_layouts_is_proved(t: TensorType, given: Layout, wanted: Layout, ops: list[str]) -> None:
    steps = conversions(t, given, wanted)
    assert [s.op for s in steps] == ops
    assert all(s.proof.theorem.after is s.proof.schedule.func for s in steps)
    assert steps[-1].type.shape == shape_in(wanted, t.shape)


def test_a_wrong_conversion_is_refused_with_a_counterexample() -> None:
    wrong = IndexMap.from_func(lambda n, a, h, w, b: [n, b * 2 + a, h, w], 5)
    func = legalize("layout_transform", [TensorType((1, 2, 3, 3, 4), "float32")], {"index_map": wrong})
    with pytest.raises(GraphError, match=r"does not make .* refused, since this is false") as refused:
        prove_conversion(T4, by(4), Padded(IndexMap.identity(4), None, (1, 8, 3, 3)), func)
    assert "i1" in str(refused.value)


def test_padding_with_a_value_serves_where_anything_will_do() -> None:
    anything, zeros = layout_text(by(4)), layout_text(Padded(by(4), 0.0))
    assert serves(zeros, anything) and serves(anything, anything)
    assert not serves(anything, zeros)
    assert not serves(zeros, layout_text(Padded(by(4), 1.0)))


def chain(op: str = "nn.relu", channels: int = 6) -> Graph:
    g = GraphBuilder()
    rng = np.random.default_rng(0)

    def weights(*shape: int) -> Value:
        return g.constant(rng.standard_normal(shape).astype(np.float32), "w")

    x = g.input("x", (1, 3, 2, 2))
    y = g.op("nn.conv2d", x, weights(channels, 3, 1, 1), weights(channels), name="first")
    y = g.op(op, y, name="between")
    return g.finish(g.op("nn.conv2d", y, weights(5, channels, 2, 1), padding=(1, 0, 0, 0), name="second"))


def same_bits(made: Plan) -> None:
    x = np.random.default_rng(1).standard_normal((1, 3, 2, 2)).astype(np.float32)
    for got, want in zip(evaluate(made.graph, [x]), evaluate(made.before, [x]), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.nightly
@pytest.mark.sample(1)
@pytest.mark.parametrize("value", [None, 0.0])
def test_channels_that_do_not_come_out_even_are_padded(value: float | None) -> None:
    """Three channels are left alone: that is cheaper than padding them; six are padded to eight, five to eight."""
    graph = chain()
    made = plan(graph, Annotations({"conv2d": "NCHW4c"}, pad_value=value).frozen(graph))
    assert [(n.op, why) for n, why in made.rewrites] == [
        ("layout_transform", "second for the result"), ("crop", "second for the result")
    ]  # fmt: skip
    assert set(made.proofs) == {n for n, _ in made.rewrites}
    shapes = {v.name: v.shape for v in made.graph.values()}
    assert shapes["between_moved"] == (1, 2, 2, 2, 4)
    same_bits(made)


@pytest.mark.nightly
def test_always_padding_takes_whole_tiles() -> None:
    graph = chain()
    made = plan(graph, Annotations({"conv2d": "NCHW4c"}, pad="always").frozen(graph))
    assert [n.op for n, _ in made.rewrites] == ["pad", "layout_transform", "layout_transform", "crop"]
    assert {v.name: v.shape for v in made.graph.values()}["x_layout_1"] == (1, 1, 2, 2, 4)
    same_bits(made)


@pytest.mark.nightly
def test_a_value_is_kept_by_one_node_and_stored_by_another() -> None:
    """Zeros are stored once, and what keeps them need not store them again."""
    g = GraphBuilder()
    x = g.input("x", (1, 3, 2, 2))
    y = g.op("sigmoid", g.op("nn.conv2d", x, g.constant(np.ones((6, 3, 1, 1), np.float32))), name="s")
    y = g.op("nn.relu", y, name="r")
    graph = g.finish(g.op("nn.conv2d", y, g.constant(np.ones((4, 6, 1, 1), np.float32)), name="last"))
    last = next(n for n in graph.nodes if n.output.name == "last")
    zeros = Annotations({"conv2d": "NCHW4c"}, pad_value=0.0).frozen(graph)
    anything = Annotations({"conv2d": "NCHW4c"}).frozen(graph)
    made = plan(graph, {n: zeros[n] if n is last else anything[n] for n in graph.nodes if n in zeros})
    filled = [n.source for n, r in made.relaid.items() if r.filled]
    assert len(filled) == 1
    same_bits(made)


def test_names_of_padded_layouts() -> None:
    def texts(shape: tuple[int, ...], pad: str) -> list[str]:
        return [layout_text(m) for m in padded_layout("NCHW4c", "NCHW", shape, pad)]  # type: ignore[arg-type]

    tiled = "lambda i0, i1, i2, i3: [i0, i1 // 4, i2, i3, i1 % 4]"
    assert texts((1, 6, 2, 2), "large") == [tiled]
    assert texts((1, 3, 2, 2), "large") == ["", f"{tiled} in (1, 1, 2, 2, 4)"]
    assert texts((1, 6, 2, 2), "never") == [""]
    assert texts((1, 8, 2, 2), "never") == [tiled]
    assert texts((1, 3, 2, 2), "always") == [f"{tiled} in (1, 1, 2, 2, 4)"]


def test_padding_that_the_type_does_not_hold() -> None:
    g = GraphBuilder()
    y = g.op("nn.relu", g.input("x", (6,), "int32"))
    graph = g.finish(y)
    node: Node = graph.nodes[0]
    tiles = Padded(IndexMap.from_func(lambda i: [i // 4, i % 4], 1), 0.5)
    with pytest.raises(GraphError, match=r"nn.relu .*padding of int32 cannot be 0.5"):
        plan(graph, {node: ([tiles], [None])})


@pytest.mark.nightly
def test_a_sum_runs_over_zeros_in_whole_tiles() -> None:
    """Both factors are zero in the padding, so that nothing but 0.0 is added; with undefined ones the branch stays."""
    func = legalize("nn.conv2d", [TensorType(X, "float32"), TensorType((2, 6, 1, 2), "float32")], {})
    x, w, y = func.buffers
    kernel = IndexMap.from_func(lambda o, i, h, w: [o, i // 4, h, w, i % 4], 4)
    zeros = relayout(func, {x: Padded(by(4), 0.0), w: Padded(kernel, 0.0)}, padded_sums=True)
    assert not zeros.left_out and zeros.theorem.reassociated == frozenset()
    assert "if " not in script(zeros.func) and "T.grid(2, 3, 2, 2, 4, 1, 2)" not in script(zeros.func)
    assert "rc_0, rc_1" in script(zeros.func)
    anything = relayout(func, {x: Padded(by(4), 0.0), w: kernel}, padded_sums=True)
    assert "writes the bits that are there already" in anything.left_out[0]
    assert "if " in script(anything.func)
    assert y.name in script(anything.func)


@pytest.mark.nightly
@pytest.mark.parametrize("channels", [1, 3, 16])
def test_one_channel_fills_a_tile_as_others_do(channels: int) -> None:
    """An index that is always 0 does not say which tile it is in; the room around it is a box all the same."""
    b = GraphBuilder("pooled")
    pooled = b.op("nn.max_pool2d", b.input("x", (1, channels, 4, 4), "float32"), pool_size=(2, 2), strides=(2, 2))
    graph = b.finish(b.op("nn.relu", pooled))
    made = plan(graph, Annotations({"max_pool2d": "NCHW16c"}, pad="always").frozen(graph))
    x = np.random.default_rng(1).standard_normal((1, channels, 4, 4)).astype(np.float32)
    np.testing.assert_array_equal(evaluate(made.graph, [x])[0], evaluate(graph, [x])[0])
    assert any("1×1×2×2×16" in str(n.output.type) or n.output.shape[-1] == 16 for n in made.graph.nodes)
