"""Plans of small models, with all that a plan may have: what ``forged_plans`` changes.

Each is made once in a process, and its certificates are the pool from which a forger takes others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, final

import numpy as np

from verified_tir.certificate.plan_graphs import array_hash
from verified_tir.certificate.write import Origin, Written
from verified_tir.certificate.write_plan import write_plan
from verified_tir.certificate.write_replacements import write_fusions, write_hoisting
from verified_tir.graph import Graph, GraphBuilder, TensorType
from verified_tir.graph.annotate import Annotations, layout_named
from verified_tir.graph.external import External
from verified_tir.graph.ir import Array
from verified_tir.graph.layouts import Padded
from verified_tir.graph.plan import Plan, plan
from verified_tir.graph.program import program_of
from verified_tir.graph.rewrite_passes import frozen_by_hoisting, hoist_layout_rewrites
from verified_tir.graph.sizes import symbol
from verified_tir.ir.script import parse_func
from verified_tir.schedule.intrinsics import TensorIntrin
from verified_tir.schedule.schedule import Schedule
from verified_tir.script import tir as T


@final
@dataclass(frozen=True, slots=True)
class Honest:
    """The plan of a model: its number, its documents by name, their certificates, and arrays of constants by hash."""

    number: int
    model: Graph
    documents: Mapping[str, dict[str, Any]]
    written: Written
    arrays: Mapping[str, Array]


def _honest(
    number: int, model: Graph, made: Plan, name: str, before: tuple[Graph, dict[str, Any]] | None = None,
    written: Written | None = None,
) -> Honest:  # fmt: skip
    planned = made.unfused or made
    given, document = write_plan(planned, name)
    written = given if written is None else Written(
        given.certificates | written.certificates, given.queries | written.queries, given.constants | written.constants
    )  # fmt: skip
    documents = {} if before is None else {f"{name}/hoisted": before[1]}
    documents[f"{name}/plan"] = document
    if made.fused:
        _, documents[f"{name}/fused"] = write_fusions(planned.graph, made.graph, made.fused, name, written=written)
    arrays = {array_hash(a): a for g in (model, planned.before, planned.graph) for a in g.constants.values()}
    return Honest(number, model, documents, written, arrays)


def _random(*shape: int) -> Array:
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


def _convolution() -> Honest:
    """Six channels, so that tiles of four are padded; a large constant is packed, and rewrites are fused."""
    g = GraphBuilder("model")
    x = g.input("x", (1, 6, 2, 2))
    y = g.op("nn.conv2d", x, g.constant(_random(8, 6, 1, 1), "w"), name="y")
    b = g.constant(np.arange(8, dtype=np.float32).reshape(1, 8, 1, 1), "b")
    p = g.op("nn.relu", g.op("add", y, b, name="z"), name="p")
    graph = g.finish(g.op("nn.softmax", p, name="s"), p)
    return _honest(0, graph, plan(graph, Annotations({"conv2d": "NCHW4c"}).frozen(graph), fuse=True), "convolution")


def _elided() -> Honest:
    """A rewrite of the model whose result is there already, and small constants that are packed."""
    g = GraphBuilder("model")
    x = g.input("x", (1, 4, 2, 2))
    w = g.constant(np.arange(16, dtype=np.float32).reshape(4, 4, 1, 1), "w")
    y = g.op("nn.conv2d", x, w, name="y")
    graph = g.finish(g.op("layout_transform", y, index_map=layout_named("NCHW4c", "NCHW"), name="z"), y)
    return _honest(1, graph, plan(graph, Annotations({"conv2d": "NCHW4c"}).frozen(graph)), "elided")


def _filled() -> Honest:
    """Padding that holds a value, of a result and of an operand."""
    g = GraphBuilder("model")
    y = g.op("nn.relu", g.input("x", (1, 6, 2, 2)), name="y")
    graph = g.finish(g.op("tanh", y, name="z"))
    tiles = layout_named("NCHW4c", "NCHW")
    assert tiles is not None
    held = Padded(tiles, 0.0)
    return _honest(
        2, graph, plan(graph, {graph.nodes[0]: ([held], [held]), graph.nodes[1]: ([held], [tiles])}), "filled"
    )


_OPAQUE: Final = """
@T.prim_func
def opaque(x: T.Buffer({shape}, "float32"), y: T.Buffer({shape}, "float32")):
    T.evaluate(T.call_packed("library.f", x.data, y.data))
"""


def _external() -> Honest:
    """Nodes that external functions compute: one whose program is another one, one that is moved, one that stays."""
    shape = (1, 8, 1, 3)
    g = GraphBuilder("model")
    r = g.op("nn.relu", g.input("x", shape), name="r")
    y = g.call_tir(parse_func(_OPAQUE.format(shape=shape)), [r], [r.type], "f")
    graph = g.finish(g.op("tanh", g.op("nn.relu", y, name="z"), name="t"))
    nhwc = layout_named("NHWC", "NCHW")
    other = parse_func(_OPAQUE.format(shape=(1, 1, 3, 8)))
    _, f, z, t = graph.nodes
    external = {
        f: External("f", [([nhwc], [nhwc])], [other]), z: External("relu", [([nhwc], [nhwc])]),
        t: External("tanh", [([None], [None])]),
    }  # fmt: skip
    return _honest(3, graph, plan(graph, external=external), "external")


_TURNING: Final = """
@T.prim_func
def scale(x: T.Buffer((2, 4), "float32"), y: T.Buffer((4, 2), "float32")):
    t = T.alloc_buffer((4, 2), "float32")
    for i, j in T.grid(4, 2):
        with T.block("turn"):
            T.block_attr({"meta_schedule.layout_rewrite_preproc": True})
            t[i, j] = x[j, i]
    for i, j in T.grid(4, 2):
        with T.block("scale"):
            y[i, j] = t[i, j] * 2.0
"""


def _hoisted() -> Honest:
    """A rewrite that is lifted out of a program."""
    g = GraphBuilder("model")
    out = [TensorType((4, 2), "float32")]
    func = parse_func(_TURNING)
    a, b = (g.call_tir(func, [g.input(x, (2, 4))], out, name) for x, name in (("x", "a"), ("z", "b")))
    graph = g.finish(g.op("add", a, b, name="c"))
    passed = hoist_layout_rewrites(graph)
    written, document = write_hoisting(graph, passed, "hoisted")
    made = plan(passed.graph, frozen_by_hoisting(passed.graph))
    return _honest(4, graph, made, "hoisted", (graph, document), written)


def _open() -> Honest:
    """Extents that are open: a batch, of which each has eight channels in tiles of four."""
    g = GraphBuilder("model")
    x = g.input("x", (symbol("batch"), 8, 2, 2))
    y = g.op("nn.conv2d", x, g.constant(_random(8, 8, 1, 1), "w"), name="y")
    graph = g.finish(g.op("nn.softmax", g.op("nn.relu", y, name="z"), name="s"))
    return _honest(5, graph, plan(graph, Annotations({"conv2d": "NCHW4c"}).frozen(graph)), "open")


_MODELS: Final[tuple[Callable[[], Honest], ...]] = (_convolution, _elided, _filled, _external, _hoisted, _open)
COUNT: Final = len(_MODELS)


@cache
def honest(k: int) -> Honest:
    """The plan of one of the models."""
    return _MODELS[k]()


_NEGATION: Final = """
@T.prim_func
def neg(x: T.Buffer((1, 6, 2, 2), "float32"), relu: T.Buffer((1, 6, 2, 2), "float32")):
    T.evaluate(T.call_extern("int32", "negate", x.data, relu.data))
"""


@cache
def useless() -> Mapping[str, dict[str, Any]]:
    """Two certificates that are right and prove nothing in a graph: of ReLU of what is asserted to be five, and of ReLU
    by an external function."""
    g = GraphBuilder("model")
    relu = program_of(g.finish(g.op("nn.relu", g.input("x", (1, 6, 2, 2)), name="y")).nodes[0])
    asserted, implemented = Schedule(relu), Schedule(relu)
    x = asserted.func.buffers[0]
    asserted.assume(lambda *i: x[i].equal(5.0), x.name, axiom=True)
    asserted.restate(asserted.func.buffers[1].name, lambda *_: T.float32(5.0))
    intrinsic = TensorIntrin("forged.negation", relu, parse_func(_NEGATION))
    implemented.tensorize(implemented.get_loops("relu")[0], intrinsic)
    written = Written()
    written.add("asserted/relu", asserted, Origin("asserted"))
    written.add("implemented/relu", implemented, Origin("implemented"))
    return written.certificates


@cache
def pool(k: int) -> Mapping[str, dict[str, Any]]:
    """The certificates from which a forger of a plan takes others: its own, those of a small plan, and useless ones."""
    return {**honest(k).written.certificates, **honest(4).written.certificates, **useless()}


__all__ = ["COUNT", "Honest", "honest", "pool"]
