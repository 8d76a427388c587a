"""Operands of models: floats at random, words of a vocabulary, masks."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto

Array = np.ndarray


def operands(model: Any, seed: int = 0) -> dict[str, Array]:
    """An array for each operand, with 3 for dimensions that are open."""
    rng = np.random.default_rng(seed)
    words = next((t.dims[0] for t in model.graph.initializer if t.name in ("wte", "embed_tokens")), 2)
    found: dict[str, Array] = {}
    for i in model.graph.input:
        t = i.type.tensor_type
        shape = [d.dim_value if d.HasField("dim_value") else 3 for d in t.shape.dim]
        if t.elem_type == TensorProto.INT64:
            found[i.name] = rng.integers(0, 2 if i.name == "mask" else words, shape)
        else:
            found[i.name] = rng.standard_normal(shape).astype(np.float32)
    if "mask" in found:
        found["mask"][:, 0] = 1  # a row without any place would have no softmax
    return found
