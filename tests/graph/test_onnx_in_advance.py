"""Operators that are not known here were computed of constants by ONNX's reference evaluator, whatever they are; it is
wrong about some.  What it computes now is held against ONNX's own tests and onnxruntime."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import defs, numpy_helper

from tests.graph.onnx_nodes import as_array, cases
from tests.graph.test_onnx import model
from verified_tir.graph import GraphError
from verified_tir.graph.execute import evaluate
from verified_tir.graph.onnx import from_onnx
from verified_tir.graph.onnx.convert import CONVERSIONS
from verified_tir.graph.onnx.in_advance import COMPUTING, MOVING

RANDOM = np.random.default_rng(0)
OWN_TESTS = (
    "bitcast", "col2im", "cumprod", "deformconv", "det", "dft", "gridsample", "lpnormalization", "lppool", "maxunpool",
    "melweightmatrix", "nonmaxsuppression", "nonzero", "roialign", "tensorscatter", "unique",
)  # fmt: skip
"""Modules of ONNX's tests."""
NOT_CONFIRMED = "l1normalization", "with_output_shape"


def f4(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


def i8(*elements: int) -> Any:
    return np.array(elements, np.int64)


def of_constants(op: str, operands: list[Any], opset: int = 22, outputs: int = 1, **attributes: Any) -> Any:
    """A model of one node whose operands are all constants."""
    made = model(op, operands, opset, tuple(range(len(operands))), outputs, **attributes)
    made.ir_version = 10
    return made


def test_what_onnx_itself_tests() -> None:
    seen = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = cases(*OWN_TESTS, everything=True)
    for name, case in found.items():
        (node, *more) = case.model.graph.node
        if more or node.op_type not in {**MOVING, **COMPUTING}:
            continue
        for inputs, expected in case.data_sets:
            made = onnx.ModelProto()
            made.CopyFrom(case.model)
            given = zip(made.graph.input, map(as_array, inputs), strict=True)
            made.graph.initializer.extend([numpy_helper.from_array(a, i.name) for i, a in given])
            del made.graph.input[:]
            if any(word in name for word in NOT_CONFIRMED):
                with pytest.raises(GraphError, match="is not known here, also not of constants"):
                    from_onnx(made)
                continue
            seen.add(node.op_type)
            for a, want in zip(evaluate(from_onnx(made), []), map(as_array, expected), strict=True):
                assert a.dtype == want.dtype, name
                np.testing.assert_allclose(a, want, rtol=max(case.rtol, 1e-6), atol=1e-6, err_msg=name)
    assert seen == {*MOVING, *COMPUTING} - {"Constant"}


GRID = [f4(1, 2, 5, 5), (RANDOM.random((1, 3, 3, 2)) * 3 - 1.5).astype(np.float32)]
ROI = [f4(1, 2, 6, 6), np.array([[0, 0, 4, 4], [1, 1, 3, 5], [-1, -1, 7, 7]], np.float32), i8(0, 0, 0)]
UNPOOLED = [np.arange(1, 9, dtype=np.float32).reshape(1, 2, 2, 2), i8(5, 7, 13, 15, 21, 23, 29, 31).reshape(1, 2, 2, 2)]
BOXES = [RANDOM.random((2, 6, 4)).astype(np.float32), RANDOM.random((2, 2, 6)).astype(np.float32), i8(2)]
POOL = {"kernel_shape": [3, 2]}

SAME: list[tuple[str, list[Any], dict[str, Any]]] = [
    *(("LpPool", [f4(1, 2, 6, 7)], {**POOL, "opset": opset, "p": p, **more})
      for opset, p, more in ((9, 2, {}), (11, 3, {"strides": [2, 1]}), (18, 1, {"pads": [1, 1, 0, 1]}),
                             (22, 2, {"dilations": [2, 1], "pads": [1, 0, 1, 1]}),
                             (18, 2, {"auto_pad": "SAME_UPPER", "strides": [2, 3]}),
                             (18, 2, {"auto_pad": "SAME_LOWER", "strides": [2, 3]}))),
    *(("LpNormalization", [x], {"opset": opset, "axis": 1}) for opset in (7, 22)
      for x in (f4(2, 3, 4), np.zeros((2, 3), np.float32))),
    ("Det", [f4(2, 4, 4)], {"opset": 11}),
    ("Det", [np.zeros((2, 2), np.float32)], {}),
    ("NonZero", [np.array([[0, np.nan], [-0.0, 3]], np.float32)], {}),
    ("NonZero", [np.array([True, False])], {"opset": 9}),
    ("Unique", [np.array([3, 0, -0.0, 1, 3], np.float32)], {"outputs": 4, "sorted": 0}),
    ("Unique", [np.array([[3, 1], [3, 1], [2, 1]], np.int64)], {"outputs": 4, "axis": 0}),
    *(("GridSample", GRID, {"mode": mode, "padding_mode": pad, "align_corners": corners, "opset": 20})
      for mode in ("linear", "nearest", "cubic") for pad in ("zeros", "border", "reflection") for corners in (0, 1)
      if (mode, pad) != ("cubic", "border")),
    ("GridSample", [f4(1, 1, 3, 3, 3), f4(1, 2, 2, 2, 3)], {}),
    ("Col2Im", [f4(2, 8, 4), i8(4, 4), i8(2, 2)], {"strides": [2, 2]}),
    ("Col2Im", [f4(1, 4, 16), i8(4, 4), i8(2, 2)], {"pads": [1, 1, 1, 1], "dilations": [2, 2]}),
    ("DFT", [f4(2, 6, 1), i8(8)[0]], {"opset": 17, "axis": 1, "onesided": 1}),
    ("DFT", [f4(2, 6, 3, 2), None, i8(-3)[0]], {"opset": 20}),
    ("DFT", [f4(1, 5, 2), i8(8)[0], i8(1)[0]], {"opset": 20, "inverse": 1, "onesided": 1}),
    ("MelWeightMatrix", [i8(8)[0], i8(16)[0], i8(8192)[0], np.float32(500), np.float32(3000)], {"opset": 17}),
    *(("RoiAlign", ROI, {"opset": opset, "output_height": 2, "output_width": 3, "spatial_scale": 0.7, **more})
      for opset, more in ((16, {}), (16, {"coordinate_transformation_mode": "output_half_pixel"}),
                          (16, {"sampling_ratio": 2}))),
    *(("MaxUnpool", UNPOOLED, {"kernel_shape": [2, 2], "strides": [2, 2], "opset": opset}) for opset in (9, 11, 22)),
    ("NonMaxSuppression", [*BOXES, np.float32([0.1])], {"opset": 10}),
    ("NonMaxSuppression", [*BOXES, np.float32([0.3]), np.float32([0.2])], {"opset": 11, "center_point_box": 1}),
    ("TensorScatter", [f4(2, 4, 3), f4(2, 2, 3), i8(1, 2)], {"opset": 24, "axis": 1}),
    ("TensorScatter", [f4(1, 1, 4, 2), f4(1, 1, 3, 2), i8(3)], {"opset": 24, "mode": "circular"}),
    *(("CumProd", [f4(2, 4), i8(1)[0]], {"opset": 26, "exclusive": e, "reverse": r}) for e in (0, 1) for r in (0, 1)),
    *(("DeformConv", [f4(1, 4, 4, 4), f4(4, 2, 2, 2), f4(1, 16, 3, 3), f4(4), f4(1, 8, 3, 3)],
       {"opset": opset, "kernel_shape": [2, 2], "group": 2, "offset_group": 2}) for opset in (19, 22)),
    ("BitCast", [f4(4)], {"opset": 26, "to": 6}),
    *(("Constant", [], {"opset": 13, **value})
      for value in ({"value_int": 3}, {"value_floats": [0.1, 2.0]}, {"value_ints": [2**40, -1]})),
]  # fmt: skip


@pytest.mark.parametrize(("op", "operands", "how"), SAME, ids=[f"{k}-{op}" for k, (op, _, _) in enumerate(SAME)])
def test_what_onnxruntime_computes(op: str, operands: list[Any], how: dict[str, Any]) -> None:
    made = of_constants(op, operands, **how)
    found = evaluate(from_onnx(made), [])
    for o, a in zip(made.graph.output, found, strict=True):
        o.type.tensor_type.elem_type = onnx.helper.np_dtype_to_tensor_dtype(a.dtype)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    for a, want in zip(found, session.run(None, {}), strict=True):
        assert a.dtype == want.dtype
        np.testing.assert_allclose(a, want, rtol=1e-4, atol=1e-5)


def test_versions_are_those_that_there_are() -> None:
    every = {(s.name, s.since_version) for s in defs.get_all_schemas_with_history() if not s.domain}
    listed = {(op, v) for op, versions in {**MOVING, **COMPUTING}.items() for v in versions}
    assert listed <= every
    assert not {op for op, _ in listed} & CONVERSIONS.keys()


@pytest.mark.parametrize(
    ("op", "operands", "how", "message"),
    [
        ("LpNormalization", [f4(2)], {"p": 1}, r"\(LpNormalization\): p other than 2 is not known here"),
        ("LpPool", [f4(1, 1, 3, 3)], {**POOL, "ceil_mode": 1}, "ceil_mode is not known here, also not of constants"),
        ("LpPool", [f4(1, 1, 3, 3).astype(np.float16)], POOL, "LpPool of float16 is not known here"),
        ("RoiAlign", ROI, {"opset": 10}, "the operator RoiAlign is not known here"),
        ("GridSample", GRID, {"mode": "cubic", "padding_mode": "border"}, "cubic with the border repeated"),
        ("GridSample", GRID, {"opset": 16}, "the operator GridSample is not known here"),
        ("GridSample", [i8(*range(4)).reshape(1, 1, 2, 2), GRID[1]], {}, "GridSample of int64 is not known here"),
        ("MaxUnpool", [*UNPOOLED, i8(1, 2, 5, 5)], {"kernel_shape": [2, 2], "strides": [2, 2]}, "output_shape is not"),
        ("Unique", [np.array([np.nan, 1], np.float32)], {}, "Unique with NaN is not known here"),
        ("DFT", [f4(2, 6, 2), None, i8(-1)[0]], {"opset": 20}, "axis"),
        ("DFT", [f4(2, 6, 2)], {"opset": 20, "onesided": 1}, "one-sided DFT requires real input"),
        ("StringConcat", [np.array(["a"]), np.array(["b"])], {"opset": 20}, "the operator StringConcat is not known"),
    ],
)
def test_what_nobody_confirms_is_refused(op: str, operands: list[Any], how: dict[str, Any], message: str) -> None:
    with pytest.raises(GraphError, match=message):
        from_onnx(of_constants(op, operands, **how))
