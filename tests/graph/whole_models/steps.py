"""A model cut into its nodes: each takes what onnxruntime computed for its operands.

Results of whole models that are quantised are no good measure.  The sums of floats before a ``QuantizeLinear`` are
taken in another order, and so differ in their last bits; where such a sum lies next to the middle between two steps it
is rounded to the other one, and from there on the models compute with other numbers.  (``gpt_pairs``, the large one:
9,660 of 16,384 products in the first block differ by at most 4e-6, three of them become another of 255 steps, and at
the end logits up to 14.7 differ by up to 0.37.)  On the same operands, integers have to be the same.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

Array = np.ndarray


def by_onnxruntime(model: Any, given: dict[str, Array]) -> dict[str, Array]:
    """The results of all nodes, by name, computed node by node."""
    onnxruntime: Any = importlib.import_module("onnxruntime")
    names = [n for node in model.graph.node for n in node.output if n]
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    del whole.graph.output[:]
    whole.graph.output.extend(map(helper.make_empty_tensor_value_info, names))
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.log_severity_level = 3
    session = onnxruntime.InferenceSession(whole.SerializeToString(), settings, ["CPUExecutionProvider"])
    return dict(zip(names, session.run(None, given), strict=True))


def cut(model: Any, known: dict[str, Array]) -> Any:
    """The model with an operand of its own for each value that a node takes of another one, under that one's name.

    Results have ``_found`` behind their names.  Values that are counts or shapes become constants.

    :param known: the results of all nodes.
    """
    apart = onnx.ModelProto()
    apart.CopyFrom(model)
    taken = {n for node in apart.graph.node for n in node.input}
    for name, array in known.items():
        if name in taken and array.dtype == np.int64:
            apart.graph.initializer.append(numpy_helper.from_array(array, name))
        elif name in taken:
            element = helper.np_dtype_to_tensor_dtype(array.dtype)
            apart.graph.input.append(helper.make_tensor_value_info(name, element, array.shape))
    for node in apart.graph.node:
        node.output[:] = [f"{n}_found" if n else "" for n in node.output]
    del apart.graph.value_info[:]
    del apart.graph.output[:]
    apart.graph.output.extend(helper.make_empty_tensor_value_info(f"{n}_found") for n in known)
    return apart
