"""One result of a node, by three evaluators, and what the specification says where neither of the others does."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, final

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tests.fuzz.onnx_models.case import OnnxModel, OnnxNode
from tests.fuzz.onnx_models.evaluators import by_reference
from verified_tir.graph.ir import Array


@final
@dataclass(frozen=True)
class Opinion:
    """One result of one node: ours, and what the other two say of it (an exception if they do not run it)."""

    model: OnnxModel
    node: OnnxNode
    ours: Array | None
    reference: Any
    onnxruntime: Any

    @property
    def result(self) -> Array:
        """Ours, where there is one."""
        assert self.ours is not None
        return self.ours

    def operand(self, k: int) -> Any:
        """The elements of the k-th operand; ``None`` if it is left out."""
        name = self.node.operands[k] if k < len(self.node.operands) else ""
        return self.model.inputs.get(name, self.model.constants.get(name))


def nan(o: Opinion) -> bool:
    """Whether an operand has NaN among its elements."""
    return any(floating(a) and bool(np.isnan(a.astype(np.float64)).any()) for a in operands(o))


def infinite(o: Opinion) -> bool:
    """Whether an operand has an infinity among its elements."""
    return any(floating(a) and bool(np.isinf(a.astype(np.float64)).any()) for a in operands(o))


def operands(o: Opinion) -> list[Array]:
    return [a for a in (o.operand(k) for k in range(len(o.node.operands))) if a is not None]


def floating(a: Array) -> bool:
    return a.dtype.kind == "f" or "float" in str(a.dtype)


def far_apart(a: Array) -> bool:
    """Whether the exponential of a difference of finite elements is less than the numbers with all digits."""
    wide = a.astype(np.float64)[np.isfinite(a)]
    least = float(ml_dtypes.finfo(a.dtype).smallest_normal)  # type: ignore[no-untyped-call]
    return wide.size > 0 and bool(wide.min() - wide.max() < np.log(least))


def near_each_other(a: Array) -> bool:
    """Whether a channel's numbers differ by much less than their size."""
    wide, axes = a.astype(np.float64), tuple(range(2, a.ndim))
    with np.errstate(all="ignore"):
        return bool((np.mean(wide, axes) ** 2 > 256 * np.var(wide, axes)).any())


def only(o: Opinion, theirs: object, where: Callable[[Array], npt.NDArray[np.bool_]]) -> bool:
    """Whether another's result differs, and only in elements that are such here."""
    if o.ours is None or not isinstance(theirs, np.ndarray) or theirs.shape != o.ours.shape:
        return False
    ours, other = o.ours.astype(np.float64), theirs.astype(np.float64)
    alike = (ours == other) & (np.signbit(ours) == np.signbit(other)) | np.isnan(ours) & np.isnan(other)
    return not alike.all() and bool((alike | where(ours)).all())


def zeros(o: Opinion) -> npt.NDArray[np.bool_]:
    """Where our result is a zero, and that of each other evaluator, too: their signs may differ."""
    found: npt.NDArray[np.bool_] = o.result == 0
    for theirs in (o.reference, o.onnxruntime):
        if isinstance(theirs, np.ndarray) and theirs.shape == found.shape:
            found = found & (theirs == 0)
    return found


def other_zeros(o: Opinion) -> bool:
    """Whether another's result differs, and only in the sign of zeros."""
    return floating(o.operand(0)) and any(
        only(o, theirs, lambda a: a == 0) and bool((np.asarray(theirs) == 0)[o.result == 0].all())
        for theirs in (o.reference, o.onnxruntime)
    )


def no_powers(o: Opinion) -> bool:
    """Whether numbers that are negative, or infinite, become powers of two."""
    if o.ours is None or str(o.ours.dtype) != "float8_e8m0fnu":
        return False
    wide = o.operand(0).astype(np.float64)
    return bool((np.signbit(wide) | np.isinf(wide)).any())


def infinite_for_nan(o: Opinion) -> npt.NDArray[np.bool_]:
    """Where we have an infinity, and onnxruntime NaN."""
    found: npt.NDArray[np.bool_] = np.isinf(o.result.astype(np.float64)) & np.isnan(
        np.asarray(o.onnxruntime, np.float64)
    )
    return found


def same_padding(o: Opinion) -> bool:
    """Whether the results of a node's windows have the shape of its operand, but for strides."""
    return str(o.node.attributes.get("auto_pad", "")).startswith("SAME")


def dilated(o: Opinion) -> bool:
    """Whether the elements of a node's windows do not stand side by side."""
    return any(d > 1 for d in o.node.attributes.get("dilations", ()))


def skipping(o: Opinion) -> bool:
    """Whether windows are smaller than the steps from one to the next, so that elements between them are in none."""
    a = o.node.attributes
    sizes = a["kernel_shape"]
    steps, gaps = (a.get(n, [1] * len(sizes)) for n in ("strides", "dilations"))
    return any((k - 1) * d + 1 < s for k, s, d in zip(sizes, steps, gaps, strict=True))


def odd_windows(o: Opinion) -> bool:
    """Whether windows that are padded to keep the shape have gaps, or are smaller than strides."""
    return same_padding(o) and (dilated(o) or skipping(o))


def old(o: Opinion) -> bool:
    """Whether the opset is older than the one in which many operators took operands for attributes."""
    return o.model.opset < 13


# -- what is expected --------------------------------------------------------------------------------------------------


def beyond_integers(o: Opinion) -> bool:
    """Whether a float is converted that no element of the result is."""
    x = o.operand(0)
    if o.ours is None or x is None or not floating(x) or o.ours.dtype.kind not in "iu":
        return False
    info, wide = np.iinfo(o.result.dtype), x.astype(np.float64)
    return bool((~((np.trunc(wide) >= info.min) & (np.trunc(wide) < float(info.max) + 1))).any())


def clipped(o: Opinion) -> Array:
    """The elements between the bounds; one that is left out is the end of the type's finite values (before opset 11 of
    float32's), NaN is none."""
    x = o.operand(0)
    info: Any = (ml_dtypes.finfo if floating(x) else np.iinfo)(x.dtype if o.model.opset >= 11 else np.float32)
    low = o.node.attributes.get("min", info.min) if o.operand(1) is None else o.operand(1)
    high = o.node.attributes.get("max", info.max) if o.operand(2) is None else o.operand(2)
    kept: Array = x
    for bound, nearer in ((low, np.maximum), (high, np.minimum)):
        limit = np.asarray(bound).astype(x.dtype)
        kept = kept if np.isnan(limit.astype(np.float64)) else nearer(kept, limit)
    return kept


def log_sum_exp(o: Opinion) -> Array:
    """The logarithm of the sum of exponentials of integers, in float64, cut to an integer."""
    x, attributes, given = o.operand(0), o.node.attributes, o.operand(1)
    axes = attributes.get("axes", range(x.ndim) if given is None or not given.size else given.tolist())
    if given is not None and not given.size and attributes.get("noop_with_empty_axes", 0):
        return np.asarray(x)
    wide, along = x.astype(np.float64), tuple(axes)
    most = wide.max(axis=along, keepdims=True)
    found = np.log(np.exp(wide - most).sum(axis=along, keepdims=True)) + most
    kept = found if attributes.get("keepdims", 1) else found.squeeze(axis=along)
    return np.asarray(kept.astype(x.dtype))


def error_function(o: Opinion) -> Array:
    """The error function in float64."""
    erf: Callable[[Array], Array] = np.vectorize(math.erf, otypes=[np.float64])
    return erf(o.operand(0))


def product_of_integers(o: Opinion) -> Array:
    """Products of integers modulo their type."""
    a, b = (o.operand(k).T if o.node.attributes.get(n) else o.operand(k) for k, n in ((0, "transA"), (1, "transB")))
    alpha, beta = (np.asarray(o.node.attributes.get(n, 1.0)).astype(a.dtype) for n in ("alpha", "beta"))
    made: Array = (a @ b) * alpha if o.operand(2) is None else (a @ b) * alpha + o.operand(2) * beta
    return made


def saturated(o: Opinion) -> Array:
    """Floats as the integers towards zero that are nearest among those of the type, NaN as 0."""
    return _nearest(np.trunc(o.operand(0).astype(np.float64)), o.result.dtype)


def power_by_floats(o: Opinion) -> Array:
    """Powers of integers in float64 as the integers towards zero that are nearest among those of the type."""
    x, y = o.operand(0), o.operand(1)
    return _nearest(np.trunc(np.power(x.astype(np.float64), y.astype(np.float64))), x.dtype)


def powers_of_two(o: Opinion) -> Array:
    """The next power of two that float8_e8m0fnu has, NaN of what is negative."""
    wide = o.operand(0).astype(np.float32).astype(np.float64)
    size = np.clip(np.where(wide > 0, wide, 0.0), 2.0**-127, 2.0**127)
    fraction, exponent = np.frexp(size)
    found: Array = np.ldexp(1.0, exponent - (fraction == 0.5))
    return np.where((wide < 0) | np.isnan(wide), np.nan, found)


def every_axis_by_itself(o: Opinion) -> bool:
    """Whether a reduction has no axes, and is told that this means none instead of all."""
    axes = o.operand(1) if len(o.node.operands) > 1 else None
    given = o.node.attributes.get("axes", ()) if axes is None else axes
    return bool(o.node.attributes.get("noop_with_empty_axes", 0)) and len(given) == 0


def root_of_squares(o: Opinion) -> Array:
    """The root of the sum of squares of integers, which is taken modulo their type, as a float32."""
    x, axes = o.operand(0), o.node.attributes.get("axes") if o.operand(1) is None else o.operand(1).tolist()
    total = np.add.reduce(x * x, tuple(axes) if axes else None, x.dtype)
    return _nearest(np.trunc(np.sqrt(total.astype(np.float32))), x.dtype).reshape(o.result.shape)


def _nearest(whole: Array, dtype: np.dtype[Any]) -> Array:
    info: Any = ml_dtypes.iinfo(dtype)  # type: ignore[no-untyped-call]
    low, high = int(info.min), int(info.max)
    found = [0 if math.isnan(e) else high if e >= high else low if e <= low else int(e) for e in whole.flat]
    return np.array(found, object).astype(dtype).reshape(whole.shape)


def quantised(o: Opinion) -> Array:
    """Quotients in float32, rounded to even, with the zero added, as integers of the type; NaN as 0."""
    x, scale, zero = (o.operand(k) for k in range(3))
    axis, block = int(o.node.attributes.get("axis", 1)), int(o.node.attributes.get("block_size", 0))

    def along(a: Array) -> Array:
        wide = a.astype(np.float32)
        if block:
            return np.take(np.repeat(wide, block, axis), np.arange(x.shape[axis]), axis)
        if wide.size == 1:
            return wide.reshape(())
        return wide.reshape([-1 if k == axis % x.ndim else 1 for k in range(x.ndim)])

    rounded = np.rint(x.astype(np.float32) / along(scale))
    return _nearest(rounded if zero is None else rounded + along(zero), o.result.dtype)


def first_maxima(o: Opinion) -> Array:
    """Where in the whole operand the maxima of windows stand that are padded to keep the shape: the first of equals, -1
    for a window of padding alone."""
    x, attributes = o.operand(0), o.node.attributes
    sizes, kernel = x.shape[2:], tuple(attributes["kernel_shape"])
    strides, gaps = (tuple(attributes.get(n, [1] * len(kernel))) for n in ("strides", "dilations"))
    counts = [-(-n // s) for n, s in zip(sizes, strides, strict=True)]
    missing = [
        max(0, (c - 1) * s + (k - 1) * d + 1 - n)
        for c, s, k, d, n in zip(counts, strides, kernel, gaps, sizes, strict=True)
    ]
    before = [m // 2 if attributes["auto_pad"] == "SAME_UPPER" else m - m // 2 for m in missing]
    order: Literal["C", "F"] = "F" if attributes.get("storage_order", 0) else "C"
    found = np.zeros((*x.shape[:2], *counts), np.int64)
    for place in np.ndindex(found.shape):
        corner = [p * s - b for p, s, b in zip(place[2:], strides, before, strict=True)]
        window = [tuple(c + j * d for c, j, d in zip(corner, w, gaps, strict=True)) for w in np.ndindex(kernel)]
        inside = [at for at in window if all(0 <= i < n for i, n in zip(at, sizes, strict=True))]
        if not inside:
            found[place] = -1
            continue
        of_image = x[place[:2]]
        first = inside[int(np.argmax([of_image[at] for at in inside]))]
        image = int(np.ravel_multi_index(place[:2], x.shape[:2]))
        found[place] = image * math.prod(sizes) + int(np.ravel_multi_index(first, sizes, order=order))
    return found


def greatest(o: Opinion) -> Array:
    """The maxima of windows that are padded to keep the shape, or where they stand; of nothing that is less than
    everything."""
    if o.result.dtype == np.int64:
        return first_maxima(o)
    x = o.operand(0)
    places = first_maxima(replace(o, node=replace(o.node, attributes={**o.node.attributes, "storage_order": 0})))
    least = -np.inf if floating(x) else np.iinfo(x.dtype).min
    found: Array = np.where(places < 0, np.asarray(least).astype(x.dtype), x.reshape(-1)[places])
    return found


def power_of_integers(o: Opinion) -> Array:
    """Powers with exponents that are not negative, modulo the type."""
    a, b = np.broadcast_arrays(o.operand(0).astype(object), o.operand(1).astype(object))
    size = 8 * o.operand(0).dtype.itemsize
    found = np.array([pow(int(m), int(n), 1 << size) for m, n in zip(a.flat, b.flat, strict=True)], np.uint64)
    made: Array = found.astype(f"uint{size}").view(o.operand(0).dtype).reshape(a.shape)
    return made


def shrunk(o: Opinion) -> Array:
    """Integers as ONNX's definition shrinks them: by numbers that have become integers first."""
    x, attributes = o.operand(0), o.node.attributes
    edge, bias = (np.array(int(attributes.get(n, d))).astype(x.dtype) for n, d in (("lambd", 0.5), ("bias", 0.0)))
    found: Array = np.where(x < -edge, x + bias, np.where(x > edge, x - bias, np.zeros_like(x)))
    return found


def hard_swish(o: Opinion) -> Array:
    """x times x / 6 + 1 / 2, kept between 0 and 1."""
    x = o.operand(0)
    found: Array = x * np.minimum(np.maximum(x * (1 / 6) + 0.5, 0.0), 1.0)
    return found


def normalized_locally(o: Opinion) -> Array:
    """LRN by the specification's formula, its attributes float32."""
    x, size = o.operand(0), o.node.attributes["size"]
    defaults = {"alpha": 1e-4, "beta": 0.75, "bias": 1.0}
    alpha, beta, bias = (float(np.float32(o.node.attributes.get(n, d))) for n, d in defaults.items())
    squares = np.pad(x * x, [(0, 0), ((size - 1) // 2, size // 2), *[(0, 0)] * (x.ndim - 2)])
    total = sum(squares[:, k : k + x.shape[1]] for k in range(size))
    found: Array = x / (bias + alpha / size * total) ** beta
    return found


def halves(o: Opinion) -> bool:
    """Whether it is a float of 16 bits."""
    return o.ours is not None and floating(o.ours) and o.ours.dtype.itemsize == 2


def rounded_once(o: Opinion) -> Array:
    """What is computed in float64; ours where it is that, up to rounding in float32 and then to 16 bits."""
    x = o.operand(0)
    wide = {n: np.asarray(a.astype(np.float64)) if floating(a) else a for n, a in o.model.inputs.items()}
    fixed = {n: np.asarray(a.astype(np.float64)) if floating(a) else a for n, a in o.model.constants.items()}
    types = {n: "float64" if "float" in t else t for n, t in o.model.types.items()}
    results = by_reference(replace(o.model, inputs=wide, constants=fixed, types=types))
    if isinstance(results, Exception):
        return np.full(o.result.shape, np.nan)
    exact, ours = results[0].astype(o.result.dtype).astype(np.float64), o.result.astype(np.float64)
    eps = float(ml_dtypes.finfo(o.result.dtype).eps)  # type: ignore[no-untyped-call]
    largest = float(np.max(np.abs(x.astype(np.float64)), initial=0.0))
    found: Array = np.where(np.abs(ours - exact) <= 2 * eps * np.abs(exact) + 2.0**-20 * x.size * largest, ours, exact)
    return found


def wrapped(o: Opinion) -> Array:
    """Elements of the operand as of a torus, from where the padding begins to where it ends."""
    x, axes = o.operand(0), o.operand(3)
    pads = o.operand(1).tolist()
    found: Array = x
    for k, axis in enumerate(range(x.ndim) if axes is None else axes.tolist()):
        places = np.arange(-pads[k], x.shape[axis] + pads[k + len(pads) // 2])
        found = np.take(found, places % max(1, x.shape[axis]), axis)
    return found
