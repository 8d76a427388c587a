"""ONNX models by hand: nodes in order, weights drawn at random, names as exporters give them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

Array = np.ndarray


class Writer:
    """Collects the nodes and initialisers of a model; ``op`` gives the name of a node's result."""

    def __init__(self, opset: int, seed: int = 0) -> None:
        self.opset = opset
        self.rng = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.initialisers: dict[str, Array] = {}
        self.inputs: list[Any] = []
        self.scope = ""

    def input(self, name: str, dtype: Any, shape: Sequence[int | str]) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape))
        return name

    def constant(self, value: Any, name: str = "") -> str:
        """An initialiser."""
        name = f"{self.scope}{name}" if name else f"{self.scope}c{len(self.initialisers)}"
        assert name not in self.initialisers
        self.initialisers[name] = np.asarray(value)
        return name

    def weight(self, name: str, *shape: int, around: float = 0.0) -> str:
        """Random numbers that keep the size of what they are multiplied by."""
        spread = 1 / np.sqrt(shape[0] if len(shape) == 2 else np.prod(shape[1:]) if len(shape) > 2 else 16)
        return self.constant((around + spread * self.rng.standard_normal(shape)).astype(np.float32), name)

    def number(self, value: float) -> str:
        """A number as a node of its own, as exporters write those that stand in a program's text."""
        return str(self.op("Constant", value=numpy_helper.from_array(np.float32(value))))

    def integers(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def op(self, op_type: str, *operands: str, results: int = 1, **attributes: Any) -> Any:
        """The name of a node's result, or of its results if there are several."""
        name = f"{self.scope}{op_type}_{len(self.nodes)}"
        names = [f"{name}_output_{k}" for k in range(results)]
        self.nodes.append(helper.make_node(op_type, operands, names, name=name, **attributes))
        return names[0] if results == 1 else names

    def model(self, shape: Sequence[int | str], **outputs: str) -> Any:
        """The model (``onnx.ModelProto``), with results ``name=value`` of one shape."""
        for name, value in outputs.items():
            self.nodes.append(helper.make_node("Identity", [value], [name], name=f"result_{name}"))
        results = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in outputs]
        weights = [numpy_helper.from_array(a, n) for n, a in self.initialisers.items()]
        graph = helper.make_graph(self.nodes, "main_graph", self.inputs, results, weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)
