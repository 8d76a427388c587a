"""Relax and graphs: TVM reads what is written here, and computes the same; what TVM prints is read here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
import tvm.script
from tvm import relax

from verified_tir.graph import Graph, GraphBuilder, GraphError
from verified_tir.graph.execute import build
from verified_tir.graph.text import graph_text
from verified_tir.graph.tvm_modules import graph_of
from verified_tir.graph.write_relax import large_constants, relax_text
from verified_tir.index.map import IndexMap

RNG = np.random.default_rng(0)


def module_of(graph: Graph) -> tuple[Any, dict[str, Any]]:
    """The graph as TVM reads it, and the parameters that are its large constants."""
    return tvm.script.from_source(relax_text(graph)), large_constants(graph)


def runs(module: Any, arrays: list[Any]) -> list[Any]:
    """What TVM computes."""
    vm = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
    found = vm["main"](*[tvm.runtime.tensor(a) for a in arrays])
    return [found.numpy()] if hasattr(found, "numpy") else [t.numpy() for t in found]


def same_in_tvm(graph: Graph, *arrays: Any) -> Any:
    """TVM reads the graph, computes what we compute, and prints what is read as the same graph; gives TVM's module."""
    module, constants = module_of(graph)
    expected = build(graph)(*arrays)
    expected = expected if isinstance(expected, (tuple, list)) else (expected,)
    found = runs(module, [*arrays, *constants.values()])
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
    back = graph_of(module)
    assert [n.op for n in back.nodes] == [n.op if names_kept(module, n.op) else "call_tir" for n in graph.nodes]
    return module


def names_kept(module: Any, op: str) -> bool:
    return f"R.{op}(" in module.script() or op == "nn.leaky_relu"


def one(op: str, *shapes: tuple[int | str, ...], **attrs: Any) -> Callable[[GraphBuilder], Any]:
    def make(g: GraphBuilder) -> Any:
        return g.op(op, *(g.input(f"x{k}", s) for k, s in enumerate(shapes)), **attrs)

    return make


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("make", "sizes"),
    [
        (one("nn.relu", (3, 4)), {}),
        (one("add", (3, 4), (4,)), {}),
        (one("sum", (3, 4, 5), axis=(1,)), {}),
        (one("mean", (3, 4, 5), axis=(0, 2), keepdims=True), {}),
        (one("matmul", (2, 3, 4), (4, 5)), {}),
        (one("matmul", (3, 4), (5, 4), transpose_b=True), {}),
        (one("nn.dense", (3, 4), (5, 4)), {}),
        (one("nn.conv2d", (1, 2, 5, 5), (4, 2, 3, 3), padding=(1, 1, 1, 1), strides=(2, 2)), {}),
        (one("nn.max_pool2d", (1, 2, 6, 6), pool_size=(2, 2), strides=(2, 2)), {}),
        (one("nn.avg_pool2d", (1, 2, 6, 6), pool_size=(3, 3), padding=(1, 1, 1, 1), count_include_pad=True), {}),
        (one("nn.softmax", (3, 4)), {}),
        (one("nn.leaky_relu", (3, 4), alpha=0.2), {}),
        (one("nn.hard_swish", (3, 4)), {}),
        (one("reshape", (3, 4), shape=(2, -1)), {}),
        (one("permute_dims", (3, 4, 5), axes=(2, 0, 1)), {}),
        (one("concat", (3, 4), (2, 4), axis=0), {}),
        (one("clip", (3, 4), min=-0.5, max=0.5), {}),
        (one("expand_dims", (3, 4), axis=(1,)), {}),
        (one("layout_transform", (3, 8), index_map=IndexMap.from_func(lambda i, j: [j // 4, i, j % 4], 2)), {}),
        (one("layout_transform", (3, 6), index_map=IndexMap.from_func(lambda i, j: [j // 4, i, j % 4], 2),
             pad_value=0.0), {}),
        (one("nn.relu", ("n", 4)), {"n": 3}),
        (one("nn.dense", ("n", 4), (5, 4)), {"n": 3}),
        (one("concat", ("n", 4), ("m", 4), axis=0), {"n": 3, "m": 2}),
    ],
)  # fmt: skip
def test_operators(make: Callable[[GraphBuilder], Any], sizes: dict[str, int]) -> None:
    g = GraphBuilder()
    graph = g.finish(make(g))
    shapes = [[sizes.get(getattr(e, "name", ""), e) for e in v.dims] for v in graph.inputs]
    same_in_tvm(graph, *(RNG.standard_normal(s).astype(np.float32) for s in shapes))


def test_several_results_and_constants() -> None:
    g = GraphBuilder()
    x = g.input("x", (2, 8))
    large = g.constant(RNG.standard_normal((8, 8)).astype(np.float32), "w")
    left, right = g.op("split", g.op("matmul", x, large), sections=2, axis=1)
    graph = g.finish(g.op("add", left, g.constant(np.float32(2), "two")), right)
    module, constants = module_of(graph)
    assert [*constants] == ["w"] and "R.const(2.0" in module.script()
    same_in_tvm(graph, RNG.standard_normal((2, 8)).astype(np.float32))


def built_by_tvm() -> Any:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 8), "float32"))
    w = relax.const(RNG.standard_normal((8, 8)).astype("float32"))
    b = relax.const(np.arange(8).astype("float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit(relax.op.add(relax.op.matmul(x, w), b))
            parts = bb.emit(relax.op.split(relax.op.matmul(y, w), 2, axis=1))
            v = bb.emit_output(relax.op.concat([parts[1], parts[0]], axis=0))
        bb.emit_func_output(v)
    return bb.get()


def test_a_module_of_tvm_and_its_constants() -> None:
    module = built_by_tvm()
    graph = graph_of(module)
    assert len(graph.constants) == 2 and [n.op for n in graph.nodes] == ["matmul", "add", "matmul", "split", "concat"]
    x = RNG.standard_normal((2, 8)).astype(np.float32)
    np.testing.assert_allclose(runs(module, [x])[0], build(graph)(x), rtol=1e-5)


def test_what_relax_legalises_is_a_graph_of_programs() -> None:
    module = relax.transform.LegalizeOps()(built_by_tvm())
    graph = graph_of(module)
    assert {n.op for n in graph.nodes} == {"call_tir"}
    x = RNG.standard_normal((2, 8)).astype(np.float32)
    np.testing.assert_allclose(runs(module, [x])[0], build(graph)(x), rtol=1e-5)
    assert "R.call_tir(matmul, " in graph_text(graph)


def test_control_flow_is_no_graph() -> None:
    module = tvm.script.from_source("""
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        if c:
            y = R.nn.relu(x)
        else:
            y = R.negative(x)
        return y
""")
    with pytest.raises(GraphError, match="a graph is bindings"):
        graph_of(module)


def test_a_function_that_there_is_not() -> None:
    with pytest.raises(GraphError, match="the module has no function of Relax called other; it has main"):
        graph_of(built_by_tvm(), "other")
