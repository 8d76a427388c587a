"""ONNX's Resize and Upsample: interpolation along one axis after the other.

Where an element of the result lies in the operand follows from sizes and scales, which are known; so along each axis
the result is a sum of a few elements times known weights, or one element for the nearest neighbour.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from verified_tir.graph.ir import Value
from verified_tir.graph.onnx.converter import Converter
from verified_tir.graph.onnx.registry import conversion
from verified_tir.graph.operators.shape import axis_of
from verified_tir.graph.sizes import numbers

Numbers = npt.NDArray[np.float64]

MODES = ("nearest", "linear", "cubic")
MOST = 2**26
"""Places along an axis are computed in advance; there are no more."""

_PLACES = (
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize",
)  # fmt: skip


@final
@dataclass(frozen=True, slots=True)
class Axis:
    """How one axis is resized: its extent before and after, and the scale, which need not be their quotient.

    :ivar crop: where the part begins and ends that is taken, in parts of the whole.
    """

    axis: int
    before: int
    after: int
    scale: float
    crop: tuple[float, float]


@conversion("Resize", "Upsample")
def _resize(c: Converter) -> Value:
    a, x = c.attributes, c.value(0)
    mode, place = a["mode"], a.get("coordinate_transformation_mode", "asymmetric")
    nearest, cubic = a.get("nearest_mode", "floor"), float(a.get("cubic_coeff_a", -0.75))
    outside, smooth = a.get("exclude_outside", False), a.get("antialias", False)
    beyond, policy = float(a.get("extrapolation_value", 0.0)), a.get("keep_aspect_ratio_policy", "stretch")
    chosen = a.get("axes")
    axes = list(range(x.rank)) if chosen is None else [axis_of(k, x.rank) for k in chosen]
    if c.opset < 11:
        scales = np.asarray(a["scales"]) if "scales" in a else c.array(1, "scales")
        if c.node.op_type == "Upsample" and scales is not None and (scales < 1).any():
            raise c.fail(f"scales are 1 and more, not {scales.tolist()}")
        moved = _axes(c, x, axes, scales, None, None, policy)
    else:
        roi = c.array(1, "region") if place == "tf_crop_and_resize" else None
        moved = _axes(c, x, axes, c.array(2, "scales"), c.array(3, "sizes"), roi, policy)
    for name, value, known in (
        ("mode", mode, MODES[:2] if c.node.op_type == "Upsample" else MODES),
        ("coordinate_transformation_mode", place, _PLACES),
        ("nearest_mode", nearest, ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")),
    ):
        if value not in known:
            raise c.fail(f"{name} is {', '.join(known)}, not {value!r}")
    if mode == "nearest" and (repeated := _repeated(c, x, moved, place, nearest)) is not None:
        return repeated
    for axis in moved:
        where = _places(axis, place)
        if mode == "nearest":
            index = _nearest(where, nearest)
            y = _taken(c, x, axis, np.clip(index, 0, axis.before - 1))
        else:
            y = _weighted(c, x, axis, *_taps(where, axis, mode, cubic, smooth=smooth, outside=outside))
        if place == "tf_crop_and_resize":
            y = _extrapolated(c, y, axis, (where < 0) | (where > axis.before - 1), beyond)
        x = y
    return x if moved else c.op("identity", x)


def _repeated(c: Converter, x: Value, moved: Sequence[Axis], place: str, nearest: str) -> Value | None:
    """Where height and width become whole multiples, each element repeated: an operator that layouts know."""
    times = {2: 1, 3: 1}
    if x.rank != 4 or not moved or place == "tf_crop_and_resize":
        return None
    for a in moved:
        index = np.clip(_nearest(_places(a, place), nearest), 0, a.before - 1)
        if a.axis not in times or a.after % a.before or (index != np.arange(a.after) // (a.after // a.before)).any():
            return None
        times[a.axis] = a.after // a.before
    return c.op("nn.upsampling", x, scale_h=times[2], scale_w=times[3])


def _axes(c: Converter, x: Value, axes: Sequence[int], scales: Any, sizes: Any, roi: Any, policy: str) -> list[Axis]:
    """The axes that change."""
    many = None if scales is None or scales.size == 0 else [float(s) for s in scales.reshape(-1)]
    wanted = None if sizes is None or sizes.size == 0 else [int(s) for s in sizes.reshape(-1)]
    if (many is None) == (wanted is None):
        raise c.fail("either scales or sizes are given")
    if many is not None and roi is None and len(many) == len(axes):  # what is open may stay as it is
        kept = [k for k, axis in enumerate(axes) if isinstance(x.dims[axis], int) or many[k] != 1.0]
        axes, many = [axes[k] for k in kept], [many[k] for k in kept]
    old = [numbers(x.dims[k : k + 1], f"{x.name} along its axis {k}")[0] for k in axes]
    crops = [(0.0, 1.0)] * len(axes)
    if roi is not None:
        ends = [float(r) for r in roi.reshape(-1)]
        if len(ends) != 2 * len(axes):
            raise c.fail(f"the region has two numbers for each of {len(axes)} axes, not {ends}")
        crops = list(zip(ends[: len(axes)], ends[len(axes) :], strict=True))
    if len(many or wanted or ()) != len(axes):
        raise c.fail(f"there is one number for each of {len(axes)} axes, not {many or wanted}")
    if any(n == 0 for n in old) or not all(0 < s < math.inf for s in many or ()) or any(n <= 0 for n in wanted or ()):
        raise c.fail("extents and scales are positive")
    if many is not None:
        new = [int(s * n) for s, n in zip(many, old, strict=True)]
    else:
        assert wanted is not None
        new, many = wanted, [n / m for n, m in zip(wanted, old, strict=True)]
        if policy != "stretch":
            if policy not in ("not_larger", "not_smaller"):
                raise c.fail(f"keep_aspect_ratio_policy is stretch, not_larger or not_smaller, not {policy!r}")
            one = min(many) if policy == "not_larger" else max(many)
            new, many = [int(one * n + 0.5) for n in old], [one] * len(axes)
    if any(n > MOST for n in new):
        raise c.fail(f"a dimension of {max(new)} elements is made; {MOST} is the most here")
    found = [Axis(*one) for one in zip(axes, old, new, many, crops, strict=True)]
    return [a for a in found if not (math.isclose(a.scale, 1.0) and a.before == a.after and a.crop == (0.0, 1.0))]


def _places(a: Axis, mode: str) -> Numbers:
    """Where each element of the result lies in the operand.

    The formulas speak of the length that the scale gives, which need not be whole (``whole``), or of the whole one.
    """
    y = np.arange(a.after, dtype=np.float64)
    whole = a.scale * a.before
    first, end = a.crop
    match mode:
        case "align_corners":
            return y * 0 if whole == 1 else y * (a.before - 1) / (whole - 1)
        case "asymmetric":
            return y / a.scale
        case "tf_crop_and_resize":
            step = y + 0.5 if a.after == 1 else y / (a.after - 1)
            return (first + step * (end - first)) * (a.before - 1)
        case "pytorch_half_pixel" if a.after == 1:
            return y * 0
        case "half_pixel_symmetric":
            return a.before / 2 * (1 - a.after / whole) + (y + 0.5) / a.scale - 0.5
    return (y + 0.5) / a.scale - 0.5


def _nearest(where: Numbers, mode: str) -> npt.NDArray[np.int64]:
    """The element that is taken for each place."""
    low = np.floor(where)
    part = where - low
    up = {"floor": part < 0, "ceil": part > 0, "round_prefer_floor": part > 0.5, "round_prefer_ceil": part >= 0.5}[mode]
    return (low + up).astype(np.int64)


def _taps(
    where: Numbers, a: Axis, mode: str, cubic: float, *, smooth: bool, outside: bool
) -> tuple[npt.NDArray[np.int64], Numbers]:
    """The elements that each place is interpolated of, and their weights, which add up to 1.

    The left one of the two in the middle lies before the place, also where that is an element.
    """
    left = np.ceil(where) - 1
    shrink = min(a.scale, 1.0) if smooth else 1.0
    reach = 1 if mode == "linear" else 2
    half = -(math.floor(-reach / shrink) + 1)  # elements before the left one
    index = left[:, None] + np.arange(-half, half + 2)[None, :]
    distance = np.abs(index - where[:, None]) * shrink
    if mode == "linear":
        weights = np.clip(1 - distance, 0, 1)
    else:
        near = ((cubic + 2) * distance - (cubic + 3)) * distance * distance + 1
        far = ((cubic * distance - 5 * cubic) * distance + 8 * cubic) * distance - 4 * cubic
        weights = np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))
    if outside:
        weights = np.where((index < 0) | (index >= a.before), 0.0, weights)
    if smooth or outside:
        total = weights.sum(axis=1, keepdims=True)
        weights = weights / np.where(total == 0, 1.0, total)
    return np.clip(index, 0, a.before - 1).astype(np.int64), weights


def _taken(c: Converter, x: Value, a: Axis, index: npt.NDArray[np.int64]) -> Value:
    return c.op("take", x, c.builder.constant(index.astype(np.int32), "places"), axis=a.axis)


def _weighted(c: Converter, x: Value, a: Axis, index: npt.NDArray[np.int64], weights: Numbers) -> Value:
    if np.dtype(x.dtype).kind in "iu":
        raise c.fail(f"elements of {x.dtype} are not interpolated here; a Cast to float32 before is")
    shape = [a.after if k == a.axis else 1 for k in range(x.rank)]
    found: Value | None = None
    counting = np.flatnonzero(weights.any(axis=0)).tolist()
    for k in counting or [0]:  # there is none where the result is empty, or all lies outside
        weight = c.builder.constant(weights[:, k].reshape(shape).astype(x.dtype), "weights")
        term = c.op("multiply", _taken(c, x, a, index[:, k]), weight)
        found = term if found is None else c.op("add", found, term)
    assert found is not None
    return found


def _extrapolated(c: Converter, x: Value, a: Axis, outside: npt.NDArray[np.bool_], value: float) -> Value:
    """The value for places beyond the operand."""
    if not outside.any():
        return x
    shape = [a.after if k == a.axis else 1 for k in range(x.rank)]
    mask = c.builder.constant(outside.reshape(shape), "outside")
    return c.op("where", mask, c.constant(value, x.dtype, "beyond"), x)
