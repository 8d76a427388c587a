"""Our graphs in TVM's Relax, for comparison: each operator as Relax has it, what is constant already transposed.

Sums are ``add``, dropout is left out, a dense layer multiplies with weights that were transposed here: what a layout
pass would stumble over without need is not in its way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from tvm import relax

from verified_tir.graph import Graph, Node, Value

Make = Callable[[Node, list[Any]], Any]


def to_relax(graph: Graph, *, norms: bool = True) -> Any:
    """The graph as a Relax module with the function ``main``.

    :param norms: whether batch norms stay; otherwise they become a product and a sum with constants, and constants of
        channels get as many dimensions as what they are added to.
    """
    writer = _Writer(graph, norms)
    with writer.builder.function("main", [writer.known[v] for v in graph.inputs]):
        with writer.builder.dataflow():
            for n in graph.nodes:
                writer.known[n.output] = writer.written(n)
            results = [writer.builder.emit_output(writer.known[v]) for v in graph.outputs]
        writer.builder.emit_func_output(results[0] if len(results) == 1 else relax.Tuple(results))
    return writer.builder.get()


class _Writer:
    def __init__(self, graph: Graph, norms: bool) -> None:
        self.builder = relax.BlockBuilder()
        self.arrays = graph.constants
        self.norms = norms
        self.known: dict[Value, Any] = {v: relax.Var(v.name, relax.TensorType(v.shape, v.dtype)) for v in graph.inputs}

    def operand(self, v: Value) -> Any:
        if v not in self.known:
            self.known[v] = relax.const(np.ascontiguousarray(self.arrays[v]), v.dtype)
        return self.known[v]

    def written(self, n: Node) -> Any:
        if n.op == "nn.dropout":
            return self.operand(n.inputs[0])
        if n.op == "nn.batch_norm" and not self.norms:
            return self.norm(n)
        if n.op == "nn.dense" and n.inputs[1] in self.arrays:
            weights = relax.const(np.ascontiguousarray(self.arrays[n.inputs[1]].T), n.inputs[1].dtype)
            return self.builder.emit(relax.op.matmul(self.operand(n.inputs[0]), weights))
        bias = 2 if n.op == "nn.conv2d" else len(n.inputs)
        operands = [*map(self.operand, n.inputs[:bias]), *(of_channels(self.arrays[v]) for v in n.inputs[bias:])]
        if not self.norms and n.op in ("add", "multiply") and n.inputs[1] in self.arrays:
            if len(n.inputs[1].shape) == 3 and len(n.inputs[0].shape) == 4:
                operands[1] = of_channels(self.arrays[n.inputs[1]])
        return self.builder.emit(OPERATORS[n.op](n, operands))

    def norm(self, n: Node) -> Any:
        gamma, beta, mean, var = (self.arrays[v].astype(np.float64) for v in n.inputs[1:])
        scale = gamma / np.sqrt(var + n.attrs.get("epsilon", 1e-5))
        product = self.builder.emit(relax.op.multiply(self.operand(n.inputs[0]), of_channels(scale)))
        return self.builder.emit(relax.op.add(product, of_channels(beta - mean * scale)))


def of_channels(array: Any) -> Any:
    """A constant for each channel."""
    return relax.const(np.ascontiguousarray(array, np.float32).reshape(1, -1, 1, 1), "float32")


def _conv2d(n: Node, x: list[Any]) -> Any:
    a = n.attrs
    made = relax.op.nn.conv2d(
        x[0], x[1], strides=list(a["strides"]), padding=list(a["padding"]), dilation=list(a["dilation"]),
        groups=a["groups"],
    )  # fmt: skip
    return made if len(x) == 2 else relax.op.add(made, x[2])


def _batch_norm(n: Node, x: list[Any]) -> Any:
    made = relax.op.nn.batch_norm(*x, axis=1, epsilon=n.attrs.get("epsilon", 1e-5), training=False)
    return relax.TupleGetItem(made, 0)


def _max_pool(n: Node, x: list[Any]) -> Any:
    a = n.attrs
    return relax.op.nn.max_pool2d(
        x[0], list(a["pool_size"]), list(a["strides"]), list(a["padding"]), list(a.get("dilation", (1, 1))),
        a.get("ceil_mode", False),
    )  # fmt: skip


def _avg_pool(n: Node, x: list[Any]) -> Any:
    a = n.attrs
    return relax.op.nn.avg_pool2d(
        x[0], list(a["pool_size"]), list(a["strides"]), list(a["padding"]), ceil_mode=a.get("ceil_mode", False),
        count_include_pad=a.get("count_include_pad", False),
    )  # fmt: skip


def _lrn(n: Node, x: list[Any]) -> Any:
    """As TVM's importer writes it: the mean of squares over channels, by a pool of three dimensions."""
    a, size = n.attrs, n.attrs["size"]
    squares = relax.op.expand_dims(relax.op.multiply(x[0], x[0]), 1)
    half = (size - 1) // 2
    padding = [half, 0, 0, size - 1 - half, 0, 0]
    mean = relax.op.squeeze(relax.op.nn.avg_pool3d(squares, (size, 1, 1), padding=padding, count_include_pad=True), [1])
    scaled = relax.op.add(
        relax.op.multiply(mean, relax.const(a["alpha"], "float32")), relax.const(a["bias"], "float32")
    )
    return relax.op.divide(x[0], relax.op.power(scaled, relax.const(a["beta"], "float32")))


OPERATORS: Mapping[str, Make] = {
    "nn.conv2d": _conv2d,
    "nn.batch_norm": _batch_norm,
    "nn.max_pool2d": _max_pool,
    "nn.avg_pool2d": _avg_pool,
    "nn.lrn": _lrn,
    "nn.relu": lambda _, x: relax.op.nn.relu(x[0]),
    "nn.softmax": lambda n, x: relax.op.nn.softmax(x[0], n.attrs["axis"]),
    "nn.dense": lambda _, x: relax.op.linear(*x),
    "nn.global_avg_pool2d": lambda _, x: relax.op.nn.adaptive_avg_pool2d(x[0], (1, 1)),
    "add": lambda _, x: relax.op.add(*x),
    "multiply": lambda _, x: relax.op.multiply(*x),
    "concat": lambda n, x: relax.op.concat(x, n.attrs["axis"]),
    "reshape": lambda n, x: relax.op.reshape(x[0], n.output.shape),
    "permute_dims": lambda n, x: relax.op.permute_dims(x[0], list(n.attrs["axes"])),
}
"""Relax's expression for a node of each operator that the light models have."""
