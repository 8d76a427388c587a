"""`Resize` to one element took the place that a longer result begins with, with `pytorch_half_pixel` and
`tf_crop_and_resize`; to none, or of elements that all lie outside, it ended in an assertion."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from verified_tir.graph.execute import build
from verified_tir.graph.onnx import from_onnx


def model(x: Any, scale: float | None, size: int | None, part: tuple[float, float] | None, **attributes: Any) -> Any:
    """One Resize along the last axis of four."""
    known = {}
    if part is not None:
        known["part"] = np.array([0, 0, 0, part[0], 1, 1, 1, part[1]], np.float32)
    if scale is not None:
        known["scales"] = np.array([1, 1, 1, scale], np.float32)
    if size is not None:
        known["sizes"] = np.array([1, 1, 1, size], np.int64)
    names = ["x", *(n if n in known else "" for n in ("part", "scales", "sizes"))]
    graph = helper.make_graph(
        [helper.make_node("Resize", names, ["y"], **attributes)], "g",
        [helper.make_tensor_value_info("x", 1, x.shape)], [helper.make_tensor_value_info("y", 1, None)],
        [numpy_helper.from_array(a, n) for n, a in known.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=10)


def resized(x: Any, scale: float | None = None, size: int | None = None, **attributes: Any) -> Any:
    part = attributes.pop("part", None)
    made = model(x, scale, size, part, **attributes)
    (found,) = build(from_onnx(made)).run([x])
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(found, session.run(None, {"x": x})[0], rtol=1e-5, atol=1e-6)
    return found.reshape(-1)


def row(*elements: float) -> Any:
    return np.array(elements, np.float32).reshape(1, 1, 1, -1)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize(
    ("n", "to"),
    [(4, {"size": 1}), (4, {"scale": 0.25}), (4, {"scale": 0.45}), (1, {"scale": 1.5}), (49, {"size": 1})],
)
def test_one_element_is_the_first_one_with_pixels_as_in_pytorch(mode: str, n: int, to: dict[str, Any]) -> None:
    """Also where 1/49·49 is not 1, and where the scale gives more than one element, but no second one."""
    x = row(*range(1, n + 1))
    (found,) = resized(x, mode=mode, coordinate_transformation_mode="pytorch_half_pixel", **to)
    assert found == 1


def test_several_elements_lie_where_they_did() -> None:
    found = resized(row(1, 2, 4, 9), scale=0.5, mode="linear", coordinate_transformation_mode="pytorch_half_pixel")
    np.testing.assert_array_equal(found, [1.5, 6.5])


@pytest.mark.parametrize(
    ("to", "part", "expected"),
    [
        ({"scale": 0.5}, (0, 1), [2]),
        ({"size": 1}, (0, 1), [2]),
        ({"size": 1}, (0.5, 1), [3]),
        ({"scale": 1.2}, (0, 1), [1, 2, 4]),
        ({"scale": 0.7}, (0, 0.5), [1, 2]),
        ({"size": 3}, (0, 1), [1, 2, 4]),
    ],
)
def test_one_element_is_the_middle_of_the_part(
    to: dict[str, Any], part: tuple[float, float], expected: list[float]
) -> None:
    """And several ones reach from its beginning to its end, whatever else of one more the scale gives."""
    found = resized(row(1, 2, 4), mode="linear", coordinate_transformation_mode="tf_crop_and_resize", part=part, **to)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_to_no_elements(mode: str) -> None:
    assert resized(row(1, 2, 4), scale=0.3, mode=mode).shape == (0,)


def test_elements_that_all_lie_outside() -> None:
    x = row(1, 2, 4)
    how = {"coordinate_transformation_mode": "tf_crop_and_resize", "exclude_outside": 1, "extrapolation_value": 7.0}
    made = model(x, None, 2, (3, 4), mode="cubic", **how)
    np.testing.assert_array_equal(build(from_onnx(made)).run([x])[0].reshape(-1), [7, 7])
