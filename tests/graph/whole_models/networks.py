"""Small convolutional networks, and what onnxruntime's quantiser makes of models."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.graph.whole_models.writer import Writer


def network(batch: int | str = 2, channels: int = 8, size: int = 16, stages: int = 2, opset: int = 17) -> Any:
    """Stages of residual blocks with batch normalisation, poolings between them, and a classifier of ten classes."""
    w = Writer(opset)
    x = w.input("x", np.float32, [batch, 3, size, size])
    x = w.op("Relu", _conv(w, x, "stem", 3, channels))
    for k in range(stages):
        w.scope = f"/stage{k}/"
        wide = channels << k
        inner = w.op("Relu", _conv(w, x, "conv1", wide, wide))
        x = w.op("Relu", w.op("Add", _conv(w, inner, "conv2", wide, wide), x))
        x = w.op("Relu", _conv(w, x, "down", wide, 2 * wide, stride=2))
    w.scope = "/"
    x = w.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = w.op("Flatten", w.op("GlobalAveragePool", x), axis=1)
    last = channels << stages
    return w.model([batch, 10], y=w.op("Gemm", x, w.weight("fc", 10, last), w.weight("fc_b", 10), transB=1))


def _conv(w: Writer, x: str, name: str, inputs: int, outputs: int, stride: int = 1) -> str:
    """A convolution and a batch normalisation."""
    y = w.op("Conv", x, w.weight(f"{name}.weight", outputs, inputs, 3, 3), kernel_shape=[3, 3], pads=[1] * 4,
             strides=[stride] * 2)  # fmt: skip
    scale, bias, mean = (w.weight(f"{name}.{n}", outputs, around=a) for n, a in (("g", 1), ("b", 0), ("m", 0)))
    variance = w.constant(np.abs(1 + 0.2 * w.rng.standard_normal(outputs)).astype(np.float32), f"{name}.v")
    return str(w.op("BatchNormalization", y, scale, bias, mean, variance, epsilon=1e-5))
