"""The two others who run a node: onnxruntime, and the reference evaluator of the package ``onnx``."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from tests.fuzz.onnx_models.case import OnnxModel, numpy_type
from verified_tir.graph.element_types import SMALL
from verified_tir.graph.ir import Array


def by_reference(model: OnnxModel) -> list[Array] | Exception:
    """What the reference evaluator computes, or why it does not."""
    from onnx.reference import ReferenceEvaluator

    try:
        results = ReferenceEvaluator(model.proto()).run(None, dict(model.used_inputs()))
        if len(results) != len(model.results()):
            return NotImplementedError("it gives fewer results")
        return [np.asarray(r) for r in results]
    except Exception as problem:  # of any kind
        return problem


def by_onnxruntime(model: OnnxModel) -> list[Array] | Exception:
    """What onnxruntime computes, without its own changes of the graph, or why it does not."""
    onnxruntime: Any = importlib.import_module("onnxruntime")
    if _kills(model):
        return NotImplementedError("it would end the process")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.proto().SerializeToString(), options)
        if any(str(a.dtype) in SMALL or str(a.dtype) == "bfloat16" for a in model.used_inputs().values()):
            return NotImplementedError("its Python interface does not take such arrays")
        results = [np.asarray(r) for r in session.run(None, dict(model.used_inputs()))]
        types = [model.types[n] for n in model.results()]
        return [r.view(numpy_type(t)) if t in SMALL else r for r, t in zip(results, types, strict=True)]
    except Exception as problem:
        return problem


def _kills(model: OnnxModel) -> bool:
    """Whether onnxruntime divides integers by zero, or the least one by −1, which ends the process."""
    (node,) = model.nodes
    if node.op not in ("Div", "Mod") or len(node.operands) != 2:
        return False
    a, b = (model.inputs.get(n, model.constants.get(n)) for n in node.operands)
    return a is not None and b is not None and b.dtype.kind in "iu" and bool((b == 0).any() or (b == -1).any())


__all__ = ["by_onnxruntime", "by_reference"]
