"""Models as onnxruntime's quantiser makes them of those with floats."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, Literal

import onnx

from tests.graph.whole_models.operands import operands

Kind = Literal["pairs", "integers", "dynamic"]
"""``QuantizeLinear`` and ``DequantizeLinear`` around everything; ``QLinearConv`` and ``QLinearMatMul``; or
``ConvInteger`` and ``MatMulInteger`` with scales that ``DynamicQuantizeLinear`` finds."""


def quantised(model: Any, kind: Kind, folder: Path) -> Any:
    """The model as it is quantised; scales are those of four random examples.

    Weights have a scale for each channel where there are pairs, and one for the whole otherwise; and seven bits, since
    onnxruntime adds two products of uint8 and int8 in int16, which saturates, on x86 processors without VNNI.

    :param folder: for the quantiser's files.
    """
    from onnxruntime import quantization as q
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Examples(q.CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self.left = iter([operands(model, seed) for seed in range(4)])

        def get_next(self) -> Any:
            return next(self.left, None)

    source, found = folder / "floats.onnx", folder / f"{kind}.onnx"
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)  # it advises what is done here
    try:
        onnx.save(model, source)
        if kind == "dynamic":
            q.quantize_dynamic(source, found, weight_type=q.QuantType.QInt8, reduce_range=True)
        else:
            quant_pre_process(source, source, skip_symbolic_shape=True)
            q.quantize_static(
                source, found, Examples(), per_channel=kind == "pairs", weight_type=q.QuantType.QInt8,
                reduce_range=True, activation_type=q.QuantType.QUInt8 if kind == "integers" else q.QuantType.QInt8,
                quant_format=q.QuantFormat.QOperator if kind == "integers" else q.QuantFormat.QDQ,
                # others become operators of onnxruntime's own
                op_types_to_quantize=["Conv", "MatMul"] if kind == "integers" else None,
            )  # fmt: skip
    finally:
        logging.disable(before)
    return onnx.load(found)
