"""Fallback rules for opaque PrimFuncs: the caller's word is taken, printed, and checked at run time where it can be."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from verified_tir import IndexMap, parse_func
from verified_tir.graph import Graph, GraphBuilder, GraphError, Node
from verified_tir.graph.annotate import Annotations
from verified_tir.graph.believed import check_believed
from verified_tir.graph.callbacks import layout_rule
from verified_tir.graph.execute import evaluate
from verified_tir.graph.layouts import Layout
from verified_tir.graph.plan import plan
from verified_tir.ir.func import PrimFunc

NHWC = IndexMap.from_func(lambda n, c, h, w: [n, h, w, c], 4)


def opaque(name: str, library: str, shape: Sequence[int]) -> PrimFunc:
    tensor = f'T.Buffer({tuple(shape)}, "float32")'
    return parse_func(f"""
@T.prim_func
def {name}(x: {tensor}, y: {tensor}):
    T.evaluate(T.call_packed("{library}", x.data, y.data))
""")


def between_convolutions(func: PrimFunc | None = None) -> Graph:
    """A library's function between two convolutions."""
    func = func or opaque("f_nchw", "library.f", (1, 4, 3, 3))
    g = GraphBuilder()
    rng = np.random.default_rng(0)
    x = g.input("x", (1, 4, 3, 3))
    w = [g.constant(rng.integers(-2, 3, (4, 4, 1, 1)).astype(np.float32), f"w{k}") for k in range(2)]
    y = g.op("nn.conv2d", x, w[0], name="first")
    y = g.call_tir(func, [y], [y.type], "middle")
    return g.finish(g.op("nn.conv2d", y, w[1], name="last"))


def both(node: Node, place: int, layout: Layout) -> Any:
    return ([layout], [layout]) if isinstance(layout, IndexMap) and str(layout).endswith("[i0, i2, i3, i1]") else None


def in_nhwc(node: Node, inputs: Sequence[Layout], outputs: Sequence[Layout]) -> PrimFunc:
    return opaque("f_nhwc", "library.f_nhwc", (1, 3, 3, 4))


def channel_sums(axis: int) -> Any:
    def f(x: Any, y: Any) -> None:
        y[...] = np.cumsum(x, axis)

    return f


FUNCTIONS = {"library.f": channel_sums(1), "library.f_nhwc": channel_sums(3)}
X = np.random.default_rng(1).integers(-3, 4, (1, 4, 3, 3)).astype(np.float32)


@pytest.mark.nightly
def test_an_opaque_program_on_the_word_of_the_caller() -> None:
    graph = between_convolutions()
    frozen = Annotations({"conv2d": "NHWC"}).frozen(graph)
    without = plan(graph, frozen)
    assert len(without.rewrites) == 4 and not without.assumptions
    with layout_rule("f_nchw", both, word=in_nhwc):
        made = plan(graph, frozen)
    assert len(made.rewrites) == 2
    assert [n.func.name for n in made.graph.nodes if n.func is not None and n in made.external] == ["f_nhwc"]
    assert made.assumptions == [
        "call_tir middle: on moved tensors, f_nhwc computes what f_nchw does (lambda i0, i1, i2, i3: [i0, i2, i3, i1], "
        "lambda i0, i1, i2, i3: [i0, i2, i3, i1]); a registered rule says so, and nobody proves it"
    ]
    np.testing.assert_array_equal(evaluate(made.graph, [X], FUNCTIONS), evaluate(graph, [X], FUNCTIONS))
    assert check_believed(made, [X], FUNCTIONS) == 1


def test_a_wrong_word_shows_at_run_time() -> None:
    graph = between_convolutions()
    with layout_rule("f_nchw", both, word=in_nhwc):
        made = plan(graph, Annotations({"conv2d": "NHWC"}).frozen(graph))
    wrong = {**FUNCTIONS, "library.f_nhwc": channel_sums(1)}
    with pytest.raises(GraphError, match=r"call_tir middle: middle_moved\[.*\] is .*; the word is wrong"):
        check_believed(made, [X], wrong)
    with pytest.raises(GraphError, match=r"call_tir middle calls library.f, which is not among the functions"):
        check_believed(made, [X], {})


def test_what_can_be_proved_is_not_believed() -> None:
    graph = between_convolutions(
        parse_func("""
@T.prim_func
def twice(x: T.Buffer((1, 4, 3, 3), "float32"), y: T.Buffer((1, 4, 3, 3), "float32")):
    for c, h, w in T.grid(4, 3, 3):
        y[0, c, h, w] = x[0, c, h, w] * T.float32(2)
""")
    )
    with layout_rule("twice", both, word=in_nhwc):
        made = plan(graph, Annotations({"conv2d": "NHWC"}).frozen(graph))
    assert not made.external
    assert any("calls nothing from outside, so what it is in other layouts is proved" in p for p in made.problems)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        (lambda n, i, o: None, "gives no PrimFunc, but None"),
        (lambda n, i, o: 1 // 0, "fails: integer division or modulo by zero"),
        (lambda n, i, o: opaque("f", "library.f", (1, 4, 3, 3)), r"f has the extent 4 where 3 is given|f takes x"),
    ],
)
def test_words_that_make_no_sense(word: Any, message: str) -> None:
    graph = between_convolutions()
    with layout_rule("f_nchw", both, word=word):
        made = plan(graph, Annotations({"conv2d": "NHWC"}).frozen(graph))
    assert len(made.rewrites) == 4 and not made.assumptions
    assert any(re.search(message, p) for p in made.problems), made.problems


def test_a_rule_without_a_word_is_refused_for_an_opaque_program() -> None:
    graph = between_convolutions()
    with layout_rule("f_nchw", both):
        made = plan(graph, Annotations({"conv2d": "NHWC"}).frozen(graph))
    assert len(made.rewrites) == 4
    assert any("call_tir middle: " in p and "opaque" in p for p in made.problems), made.problems
