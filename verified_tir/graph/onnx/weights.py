"""ONNX models with random weights.

The weights of a model are its initializers, and what nodes compute of these alone (the models that come with the
``onnx`` package make theirs so, to be small).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Array
from verified_tir.graph.onnx.in_advance import evaluated
from verified_tir.graph.random import random_weights


def randomised(model: Any, seed: int = 0) -> Any:
    """A copy of a model (``onnx.ModelProto``) whose weights, as far as they are floats and more than one, are random.

    :raises GraphError: if nodes that compute weights cannot be evaluated.
    """
    import onnx
    from onnx import numpy_helper

    graph = model.graph
    constant = {t.name for t in graph.initializer}
    makers = []
    for node in graph.node:
        if node.op_type not in ("Dropout", "Shape") and all(n in constant or not n for n in node.input):
            constant.update(n for n in node.output if n)
            makers.append(node)
    made_by = {n for node in makers for n in node.output if n}
    kept = [node for node in graph.node if not any(n in made_by for n in node.output)]
    needed = {n for node in kept for n in node.input} | {o.name for o in graph.output}
    arrays: dict[str, Array] = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    for node in makers:
        try:
            arrays |= evaluated(node, arrays, model.opset_import)
        except GraphError as problem:
            raise GraphError(f"the weights of the model cannot be computed: {node.op_type}: {problem}") from None
    rng = np.random.default_rng(seed)
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.node[:]
    del copy.graph.initializer[:]
    copy.graph.node.extend(kept)
    for name, array in arrays.items():
        if name in needed:
            copy.graph.initializer.append(numpy_helper.from_array(random_weights(rng, array), name))
    inputs = [i for i in copy.graph.input if i.name not in arrays]
    del copy.graph.input[:]
    copy.graph.input.extend(inputs)
    return copy
