"""Where layouts come from and how they flow: rewrites that stand in the graph, external functions, registered rules."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from verified_tir import IndexMap, Schedule, script
from verified_tir.graph import Graph, GraphBuilder, GraphError, Node, Value
from verified_tir.graph.annotate import Annotations
from verified_tir.graph.callbacks import layout_rule
from verified_tir.graph.execute import evaluate
from verified_tir.graph.external import External
from verified_tir.graph.layouts import Layout
from verified_tir.graph.plan import Plan, plan
from verified_tir.ir.script import parse_func

X = (1, 8, 3, 3)
TILES = IndexMap.from_func(lambda n, c, h, w: [n, c // 4, h, w, c % 4], 4)
BACK = IndexMap.from_func(lambda n, o, h, w, i: [n, o * 4 + i, h, w], 5)
NHWC = IndexMap.from_func(lambda n, c, h, w: [n, h, w, c], 4)
HWIO = IndexMap.from_func(lambda o, i, h, w: [h, w, i, o], 4)


def weights(g: GraphBuilder, *shape: int) -> Value:
    return g.constant(np.random.default_rng(0).integers(-2, 3, shape).astype(np.float32), "w")


def same_bits(made: Plan) -> None:
    shapes = [v.shape for v in made.before.inputs]
    arrays = [np.random.default_rng(1).standard_normal(s).astype(np.float32) for s in shapes]
    for got, want in zip(evaluate(made.graph, arrays), evaluate(made.before, arrays), strict=True):
        np.testing.assert_array_equal(got, want)


def ops(made: Plan) -> list[str]:
    return [n.op for n in made.graph.nodes]


# -- rewrites in the graph (the running example of the discussion of Relax's layout planning) --------------------------


def convolution(g: GraphBuilder, x: Value, name: str) -> Any:
    """A convolution by ones in tiles, as a PrimFunc whose layout nobody may change."""
    func = parse_func(f"""
@T.prim_func
def {name}(x: T.Buffer((1, 2, 3, 3, 4), "float32"), y: T.Buffer((1, 2, 3, 3, 4), "float32")):
    for o, h, w, i in T.grid(2, 3, 3, 4):
        with T.sblock("y"):
            y[0, o, h, w, i] = x[0, 1 - o, h, w, 3 - i]
""")
    return g.call_tir(func, [x], [x.type], name)


def running_example() -> tuple[Graph, list[Node]]:
    """conv in tiles, back, + bias, into tiles, conv in tiles, back."""
    g = GraphBuilder()
    x = g.input("x", X)
    y = convolution(g, g.op("layout_transform", x, index_map=TILES), "first")
    y = g.op("layout_transform", y, index_map=BACK)
    y = g.op("add", y, weights(g, 1, 8, 1, 1))
    y = convolution(g, g.op("layout_transform", y, index_map=TILES), "second")
    graph = g.finish(g.op("layout_transform", y, index_map=BACK))
    return graph, [n for n in graph.nodes if n.op == "call_tir"]


@pytest.mark.nightly
@pytest.mark.parametrize("flow", ["backward", "forward"])
def test_rewrites_in_the_middle_go_and_the_constant_is_packed(flow: Any) -> None:
    graph, convolutions = running_example()
    made = plan(graph, {n: ([None], [None]) for n in convolutions}, flow=flow)
    assert ops(made) == ["layout_transform", "call_tir", "call_tir", "call_tir", "layout_transform"]
    assert [n.op for n in made.elided] == ["layout_transform"] * 2
    assert [v.shape for v in made.packed] == [(1, 2, 1, 1, 4)]
    assert made.cost == made.naive / 2
    same_bits(made)


def test_functions_from_which_rewrites_were_lifted_are_frozen() -> None:
    graph, convolutions = running_example()
    named = {n: parse_func(script(n.func).replace("    for", '    T.func_attr({"frozen_layout": True})\n    for', 1))
             for n in convolutions if n.func is not None}  # fmt: skip
    nodes = tuple(Node(n.op, n.inputs, n.outputs, n.attrs, named.get(n, n.func)) for n in graph.nodes)
    graph = Graph(graph.name, graph.inputs, graph.constants, nodes, graph.outputs)
    made = plan(graph)
    assert set(named.values()) <= {n.func for n in made.graph.nodes}
    assert len(made.elided) == 2
    same_bits(made)


def test_transposes_pads_and_crops_go_too() -> None:
    g = GraphBuilder()
    x = g.input("x", (4, 6))
    y = g.op("nn.relu", g.op("permute_dims", x, axes=(1, 0)))
    y = g.op("negative", g.op("permute_dims", y, axes=(1, 0)))
    made = plan(g.finish(y))
    assert ops(made) == ["call_tir", "negative"]
    same_bits(made)
    g = GraphBuilder()
    z = g.op("pad", g.op("nn.relu", g.input("x", (5,))), pad_width=((1, 2),), pad_value=0.0)
    made = plan(g.finish(g.op("nn.relu", z)))
    assert ops(made) == ["nn.relu", "pad", "nn.relu"]
    same_bits(made)


@pytest.mark.nightly
def test_a_concatenation_of_odd_parts_takes_each_as_it_is() -> None:
    """Parts of tiles do not line up; the copy that is made anyway reads and writes tiles all the same."""
    g = GraphBuilder()
    x = g.input("x", (1, 4, 2, 2))
    parts = [g.op("nn.conv2d", x, weights(g, c, 4, 1, 1), name=f"part{c}") for c in (5, 6, 7, 5)]
    whole = g.op("concat", *parts, axis=1)
    graph = g.finish(g.op("nn.conv2d", whole, weights(g, 4, 23, 1, 1), name="last"))
    made = plan(graph, Annotations({"conv2d": "NCHW4c"}).frozen(graph))
    assert [why for _, why in made.rewrites] == [f"x for nn.conv2d part{5}", "last for the result"]
    same_bits(made)


def test_an_unknown_direction() -> None:
    graph, _ = running_example()
    with pytest.raises(GraphError, match="layouts flow backward or forward, not sideways"):
        plan(graph, flow="sideways")  # type: ignore[arg-type]


@pytest.mark.nightly
def test_forward_flow_goes_with_the_data_only() -> None:
    """Nothing tells the operand of a convolution's producer: that is what flowing backward is for."""
    g = GraphBuilder()
    y = g.op("add", g.input("x", (1, 8, 1, 3)), weights(g, *X), name="b")
    y = g.op("nn.conv2d", y, weights(g, 4, 8, 1, 1), name="conv")
    graph = g.finish(g.op("sum", g.op("nn.relu", y), axis=(1, 2, 3)))
    frozen = Annotations({"conv2d": "NHWC"}).frozen(graph)
    back, forth = (plan(graph, frozen, flow=f) for f in ("backward", "forward"))  # type: ignore[arg-type]
    assert [why for _, why in back.rewrites] == ["x for add b"]
    assert [why for _, why in forth.rewrites] == ["b for nn.conv2d conv"]
    same_bits(back)
    same_bits(forth)


# -- external functions ------------------------------------------------------------------------------------------------


def offloaded() -> tuple[Graph, Node]:
    g = GraphBuilder()
    y = g.op("nn.conv2d", g.op("nn.relu", g.input("x", X)), weights(g, 8, 8, 1, 1), name="conv")
    graph = g.finish(g.op("nn.relu", y))
    return graph, graph.nodes[1]


def test_one_of_the_accepted_layouts_is_taken() -> None:
    graph, conv = offloaded()
    accepts: list[tuple[list[Layout], list[Layout]]] = [([NHWC, HWIO], [NHWC]), ([None, HWIO], [None])]
    made = plan(graph, external={conv: External("dnnl_conv", accepts)})
    assert made.cost == 0 and not made.rewrites
    assert [v.shape for v in made.packed] == [(1, 1, 8, 8)]
    (called,) = made.external
    assert made.external[called].name == "dnnl_conv"
    assert made.assumptions == [
        "nn.conv2d conv: the external function dnnl_conv does what its program says "
        "(plain, lambda i0, i1, i2, i3: [i2, i3, i1, i0], plain)"
    ]
    same_bits(made)
    only = plan(graph, external={conv: External("dnnl_conv", accepts[:1])})
    assert len(only.rewrites) == 2 and only.cost > 0
    same_bits(only)


OPAQUE = """
@T.prim_func
def opaque(x: T.Buffer({shape}, "float32"), y: T.Buffer({shape}, "float32")):
    T.evaluate(T.call_packed("library.f", x.data, y.data))
"""


def test_an_opaque_program_needs_another_for_other_layouts() -> None:
    g = GraphBuilder()
    x = g.input("x", X)
    plain = parse_func(OPAQUE.format(shape=X))
    y = g.call_tir(plain, [g.op("nn.relu", x)], [x.type], "f")
    graph = g.finish(g.op("nn.relu", y))
    node = graph.nodes[1]
    accepts: list[tuple[list[Layout], list[Layout]]] = [([NHWC], [NHWC])]
    with pytest.raises(GraphError, match=r"call_tir f does not take its frozen layouts: .*opaque"):
        plan(graph, external={node: External("f", accepts)})
    other = parse_func(OPAQUE.format(shape=(1, 3, 3, 8)))
    made = plan(graph, external={node: External("f", accepts, [other])})
    assert [n.func is other for n in made.external] == [True]
    assert "which is not proved to do so" in made.assumptions[0]


@pytest.mark.parametrize(
    ("accepts", "message"),
    [
        ([], "no layouts are named that it may have"),
        ([([NHWC], [NHWC])], "has 2 operands and 1 results; layouts of 1 operands and 1 results are frozen"),
        ([([TILES.inverse(X), None], [None])], r"is a layout of 5 dimensions; lv is R\.Tensor"),
    ],
)
def test_layouts_that_do_not_fit_the_node(accepts: Any, message: str) -> None:
    graph, conv = offloaded()
    with pytest.raises(GraphError, match=f"nn.conv2d conv.*{message}"):
        plan(graph, external={conv: External("dnnl_conv", accepts)})


# -- registered rules --------------------------------------------------------------------------------------------------


def reversed_channels() -> tuple[Graph, dict[Node, Any]]:
    """A PrimFunc in which channels do not correspond, between two convolutions."""
    g = GraphBuilder()
    func = parse_func("""
@T.prim_func
def turned(x: T.Buffer((1, 8, 3, 3), "float32"), y: T.Buffer((1, 8, 3, 3), "float32")):
    for c, h, w in T.grid(8, 3, 3):
        with T.sblock("turned"):
            y[0, c, h, w] = x[0, 7 - c, h, w] + T.float32(1)
""")
    y = g.op("nn.conv2d", g.input("x", X), weights(g, 8, 8, 1, 1), name="first")
    y = g.call_tir(func, [y], [y.type], "turned")
    graph = g.finish(g.op("nn.conv2d", y, weights(g, 8, 8, 1, 1), name="last"))
    return graph, Annotations({"conv2d": "NCHW4c"}).frozen(graph)


@pytest.mark.nightly
def test_a_rule_says_what_the_program_does_not_show() -> None:
    graph, frozen = reversed_channels()
    without = plan(graph, frozen)
    assert len(without.rewrites) == 4 and any("call_tir turned" in p for p in without.problems)

    def steps(s: Schedule) -> None:
        s.unroll(s.loops()[-1])

    with layout_rule("turned", lambda node, place, layout: ([layout], [layout]), steps):
        made = plan(graph, frozen)
    assert len(made.rewrites) == 2
    (func,) = [n.func for n in made.graph.nodes if n.source == "call_tir turned" and n.func is not None]
    assert "T.unroll" in script(func)
    same_bits(made)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda n, p, m: None, "passes no layout on from"),
        (lambda n, p, m: ([TILES], [None]) if p else ([None], [TILES]), "gives .* another layout"),
        (
            lambda n, p, m: ([IndexMap.from_func(lambda n, c, h, w: [n, c // 2, h, w], 4)], [m]),
            "no two elements of x are mapped to the same place; counterexample: .*confirmed",
        ),
        (lambda n, p, m: ([IndexMap.identity(3)], [m]), "is a layout of 3 dimensions"),
    ],
)
def test_a_wrong_rule_is_refused(rule: Any, message: str) -> None:
    graph, frozen = reversed_channels()
    with layout_rule("turned", rule):
        made = plan(graph, frozen)
    assert len(made.rewrites) == 4
    assert any(re.search(f"call_tir turned: .*{message}", p) for p in made.problems), made.problems
    same_bits(made)


def test_a_schedule_of_a_rule_that_fails() -> None:
    graph, frozen = reversed_channels()
    with layout_rule("turned", lambda n, p, m: ([m], [m]), lambda s: s.parallel("nobody")):
        made = plan(graph, frozen)
    assert len(made.rewrites) == 4 and any("nobody" in p for p in made.problems)


def turned_square(s: Schedule) -> None:
    """Exchange height and width of an operand: its shape stays, its meaning does not."""
    s.transform_layout("x", lambda n, o, h, w, i: [n, o, w, h, i])


def positive(s: Schedule) -> None:
    x = s.buffer("x")
    s.assume(lambda n, o, h, w, i: x[n, o, h, w, i] >= 0.0, "x", axiom=True)


@pytest.mark.nightly
@pytest.mark.parametrize("steps", [turned_square, positive])
def test_a_schedule_of_a_rule_changes_nothing_that_others_see(steps: Any) -> None:
    graph, frozen = reversed_channels()
    with layout_rule("turned", lambda n, p, m: ([m], [m]), steps):
        made = plan(graph, frozen)
    assert len(made.rewrites) == 4
    assert any("changes what the program takes, or assumes something of it" in p for p in made.problems)
    same_bits(made)
