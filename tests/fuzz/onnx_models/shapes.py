"""How nodes of ONNX operators that move elements are drawn, and those with windows, and recurrent ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.fuzz.onnx_models.case import element
from tests.fuzz.onnx_models.draft import Draft, Operand, types_of
from tests.fuzz.onnx_models.operators import INTS, _image, _image_shape, _scale, drawing, schema


def _any(d: Draft, op: str, least: int = 0) -> Operand:
    return d.some(types_of(op, d.opset, 0), lambda v: v.rank >= least, lambda: d.shape(least))


@drawing("Concat")
def _concat(d: Draft, op: str) -> None:
    x = _any(d, op, 1)
    axis = d.axis(x.rank)
    operands = [x.name]
    for _ in range(d.pick.one(1, 2, 0)):
        shape = list(x.shape)
        if d.pick.rarely(3):
            shape[axis] = d.extent()
        operands.append(d.like(x.dtype, shape).name)
    d.add(op, operands, {"axis": axis})


@drawing("Split")
def _split(d: Draft, op: str) -> None:
    x = _any(d, op, 1)
    axis = d.axis(x.rank)
    n = x.shape[axis]
    count = d.pick.integer(1, 3)
    attributes: dict[str, Any] = {"axis": axis}
    operands = [x.name]
    if d.pick.flip():
        cuts = sorted(d.pick.integer(0, n) for _ in range(count - 1))
        parts = [int(p) for p in np.diff([0, *cuts, n])]
        if d.opset < 13:
            attributes["split"] = parts
        else:
            operands.append(d.integers(parts))
    elif d.opset >= 18:
        attributes["num_outputs"] = count
    else:
        count = d.pick.among([c for c in range(1, 4) if n % c == 0])
    d.add(op, operands, attributes, count)


@drawing("Slice")
def _slice(d: Draft, op: str) -> None:
    x = _any(d, op, 1)
    axes = d.axes(x.rank, 1)
    far = d.pick.one(6, 6, 1 << 40)
    starts, ends = ([d.pick.integer(-6, 6) if d.pick.rarely(3) else 0 for _ in axes],
                    [d.pick.integer(-6, 6) if d.pick.rarely(3) else far for _ in axes])  # fmt: skip
    if d.opset < 10:
        d.add(op, [x.name], {"axes": axes, "starts": starts, "ends": ends})
        return
    steps = [d.pick.one(1, 1, 2, -1, -2) for _ in axes]
    for k, s in enumerate(steps):
        if s < 0 and d.pick.flip():
            starts[k], ends[k] = far, -far
    given = d.pick.one(4, 3)
    lists = [starts, ends, axes, steps][:given]
    kind = "int64" if far > 6 else d.pick.one(*INTS)
    d.add(op, [x.name, *(d.integers(values, kind) for values in lists)], {})


@drawing("Reshape")
def _reshape(d: Draft, op: str) -> None:
    x = _any(d, op)
    size = int(np.prod(x.shape))
    left, shape = size, []
    for _ in range(d.pick.integer(0, 3)):
        n = d.pick.among([k for k in range(1, 7) if left % k == 0])
        shape.append(n)
        left = left // n
    shape.append(left)
    if d.pick.rarely(3):
        shape[d.pick.integer(0, len(shape) - 1)] = -1
    k = d.pick.integer(0, len(shape) - 1)
    if d.pick.rarely(3) and k < x.rank and shape[k] == x.shape[k]:
        shape[k] = 0
    attributes = {"allowzero": 1} if d.opset >= 14 and d.pick.rarely(4) else {}
    d.add(op, [x.name, d.integers(shape)], attributes)


@drawing("Flatten")
def _flatten(d: Draft, op: str) -> None:
    x = _any(d, op)
    low = -x.rank if d.opset >= 11 else 0
    d.add(op, [x.name], {"axis": d.pick.integer(low, x.rank)} if x.rank == 0 or d.pick.flip() else {})


@drawing("Transpose")
def _transpose(d: Draft, op: str) -> None:
    x = _any(d, op)
    perm = [a % x.rank for a in d.axes(x.rank, x.rank)]
    d.add(op, [x.name], {"perm": perm} if perm and not d.pick.rarely(4) else {})


@drawing("Squeeze", "Unsqueeze")
def _squeeze(d: Draft, op: str) -> None:
    if op == "Squeeze":
        x = d.some(types_of(op, d.opset, 0), lambda v: 1 in v.shape, lambda: (*d.shape(0, 2), 1, *d.shape(0, 1)))
        axes = [k - (x.rank if d.pick.rarely(3) else 0) for k, n in enumerate(x.shape) if n == 1 and d.pick.flip()]
    else:
        x = d.some(types_of(op, d.opset, 0), lambda v: v.rank <= 4)
        count = d.pick.integer(1, 2)
        axes = d.axes(x.rank + count, count)[:count]
    if d.opset < 11:
        axes = [a % max(1, x.rank + (len(axes) if op == "Unsqueeze" else 0)) for a in axes]
    if not axes and op == "Squeeze":
        d.add(op, [x.name], {})
    elif d.opset < 13:
        d.add(op, [x.name], {"axes": axes})
    else:
        d.add(op, [x.name, d.integers(axes)], {})


@drawing("Expand")
def _expand(d: Draft, op: str) -> None:
    x = _any(d, op)
    shape = [d.pick.one(n, 1) if n != 1 else d.extent() for n in x.shape]
    shape = [*(d.extent() for _ in range(d.pick.integer(0, 1))), *shape] if d.pick.flip() else shape
    d.add(op, [x.name, d.integers(shape)], {})


@drawing("Tile")
def _tile(d: Draft, op: str) -> None:
    x = _any(d, op, 1)
    d.add(op, [x.name, d.integers([d.pick.one(1, 2, 3, 0) for _ in x.shape])], {})


@drawing("Pad")
def _pad(d: Draft, op: str) -> None:
    x = _any(d, op, 1)
    modes = ("constant", "constant", "edge", "reflect") + (("wrap",) if d.opset >= 19 else ())
    mode = d.pick.one(*modes)
    axes = d.axes(x.rank, 1) if d.opset >= 18 and d.pick.rarely(3) else None
    places = range(x.rank) if axes is None else axes
    least = -1 if mode == "constant" or d.pick.rarely(4) else 0
    pads = [d.pick.integer(least, 2 if mode == "constant" else min(2, max(0, x.shape[a] - 1)))
            for _ in range(2) for a in places]  # fmt: skip
    attributes: dict[str, Any] = {"mode": mode} if mode != "constant" or d.pick.flip() else {}
    if d.opset < 11:
        attributes["pads"] = pads
        attributes |= {"value": d.pick.one(1.0, -0.0, 2.5)} if d.pick.flip() else {}
        d.add(op, [x.name], attributes)
        return
    value = d.new(x.dtype, (), constant=True).name if d.pick.flip() else ""
    d.add(op, [x.name, d.integers(pads), value, "" if axes is None else d.integers(axes)], attributes)


@drawing("Trilu")
def _trilu(d: Draft, op: str) -> None:
    x = _any(d, op, 2)
    k = d.given(np.int64(d.pick.integer(-4, 4))).name if d.pick.flip() else ""
    d.add(op, [x.name, k], {"upper": d.pick.one(0, 1)} if d.pick.flip() else {})


@drawing("EyeLike")
def _eye(d: Draft, op: str) -> None:
    x = d.some(types_of(op, d.opset, 0), lambda v: v.rank == 2, lambda: d.shape(2, 2))
    attributes = {"k": d.pick.integer(-3, 3)} if d.pick.flip() else {}
    if d.pick.flip():
        attributes["dtype"] = element(d.dtype(types_of(op, d.opset, 0)))
    d.add(op, [x.name], attributes)


@drawing("DepthToSpace", "SpaceToDepth")
def _blocks(d: Draft, op: str) -> None:
    b = d.pick.one(2, 1, 3)

    def fits(v: Operand) -> bool:
        whole = v.shape[1:2] if op == "DepthToSpace" else v.shape[2:]
        return v.rank == 4 and not any(n % (b * b if op == "DepthToSpace" else b) for n in whole)

    def shape() -> list[int]:
        n, c, h, w = (d.extent() for _ in range(4))
        return [n, c % 3 * b * b, h, w] if op == "DepthToSpace" else [n, c, h % 4 * b, w % 4 * b]

    x = d.some(types_of(op, d.opset, 0), fits, shape)
    attributes: dict[str, Any] = {"blocksize": b}
    if "mode" in schema(d, op).attributes and d.pick.flip():
        attributes["mode"] = d.pick.one("DCR", "CRD")
    d.add(op, [x.name], attributes)


# -- places ------------------------------------------------------------------------------------------------------------


def _indices(d: Draft, shape: Sequence[int], size: int, kinds: Sequence[str] = INTS) -> str:
    """Indices among so many elements, from the front or from behind."""
    low = -size if d.pick.rarely(3) else 0
    return d.new(d.pick.one(*kinds), shape, (low, max(low, size - 1))).name


@drawing("Gather", "GatherElements")
def _gather(d: Draft, op: str) -> None:
    x = d.some(types_of(op, d.opset, 0), lambda v: v.rank > 0 and 0 not in v.shape,
               lambda: [max(1, n) for n in d.shape(1)])  # fmt: skip
    axis = d.axis(x.rank)
    attributes = {"axis": axis} if axis or d.pick.flip() else {}
    shape = d.shape(0, 2)
    if op == "GatherElements":
        shape = tuple(d.extent() if k == axis % x.rank else d.pick.integer(1, n) for k, n in enumerate(x.shape))
    d.add(op, [x.name, _indices(d, shape, x.shape[axis])], attributes)


@drawing("ScatterElements")
def _scatter(d: Draft, op: str) -> None:
    x = d.some(types_of(op, d.opset, 0), lambda v: v.rank > 0 and 0 not in v.shape,
               lambda: [max(1, n) for n in d.shape(1)])  # fmt: skip
    axis = d.axis(x.rank)
    shape = [d.pick.integer(1, n) for n in x.shape]
    size = x.shape[axis]
    if d.pick.flip():  # each place once
        line = (np.arange(shape[axis]) * d.pick.one(1, -1)).reshape([-1 if k == axis % x.rank else 1
                                                                    for k in range(x.rank)])  # fmt: skip
        indices = d.given(np.broadcast_to(line % size, shape).astype(d.pick.one(*INTS)).copy(), d.pick.flip()).name
        reduction = ""
    else:
        indices = _indices(d, shape, size)
        reduction = _reduction(d, x.dtype)
    attributes: dict[str, Any] = {"axis": axis} | ({"reduction": reduction} if reduction else {})
    d.add(op, [x.name, indices, d.like(x.dtype, shape).name], attributes)


def _reduction(d: Draft, dtype: str) -> str:
    if d.opset < 16:
        return ""
    return d.pick.one("add", "mul") if d.opset < 18 or dtype == "bool" else d.pick.one("add", "mul", "max", "min")


@drawing("ScatterND", "GatherND")
def _nd(d: Draft, op: str) -> None:
    x = d.some(types_of(op, d.opset, 0), lambda v: v.rank > 0 and 0 not in v.shape,
               lambda: [max(1, n) for n in d.shape(1)])  # fmt: skip
    common = d.pick.integer(0, x.rank - 1) if op == "GatherND" and d.opset >= 12 and d.pick.rarely(3) else 0
    deep = d.pick.integer(1, x.rank - common)
    size = min(x.shape[common : common + deep])
    rows = (*x.shape[:common], *d.shape(0 if common else 1, 1))
    if op == "GatherND":
        indices = _indices(d, (*rows, deep), size, ("int64",))
        d.add(op, [x.name, indices], {"batch_dims": common} if common else {})
        return
    reduction = _reduction(d, x.dtype) if d.pick.flip() else ""
    indices = _indices(d, (*rows, deep), size, ("int64",))
    updates = d.like(x.dtype, (*rows, *x.shape[deep:])).name
    d.add(op, [x.name, indices, updates], {"reduction": reduction} if reduction else {})


@drawing("OneHot")
def _one_hot(d: Draft, op: str) -> None:
    depth = d.pick.integer(1, 4)
    x = d.new(d.dtype([t for t in types_of(op, d.opset, 0) if t[0] in "iu"]), d.shape(0, 2), (0, depth))
    kind = d.dtype(types_of(op, d.opset, 2))
    axis = {"axis": d.pick.integer(-x.rank - 1, x.rank)} if d.pick.flip() else {}
    d.add(op, [x.name, d.given(np.array(depth, d.pick.one(*INTS))).name, d.new(kind, (2,)).name], axis)


@drawing("ReverseSequence")
def _reverse(d: Draft, op: str) -> None:
    x = d.some(types_of(op, d.opset, 0), lambda v: v.rank >= 2 and 0 not in v.shape[:2],
               lambda: [max(1, n) for n in d.shape(2)])  # fmt: skip
    batch = d.pick.one(1, 0)
    lengths = d.new("int64", (x.shape[batch],), (0, x.shape[1 - batch]))
    d.add(op, [x.name, lengths.name], {"batch_axis": batch, "time_axis": 1 - batch})


@drawing("Compress")
def _compress(d: Draft, op: str) -> None:
    x = _any(d, op, 1)
    axis = d.axis(x.rank) if d.opset >= 11 else d.axis(x.rank) % x.rank
    flat = d.pick.rarely(3)
    size = int(np.prod(x.shape)) if flat else x.shape[axis]
    condition = d.new("bool", (d.pick.integer(0, min(size, 8)),), constant=True)
    d.add(op, [x.name, condition.name], {} if flat else {"axis": axis})


# -- windows -----------------------------------------------------------------------------------------------------------


def _window(d: Draft, op: str, sizes: Sequence[int], given: Sequence[int] | None = None) -> dict[str, Any]:
    """Attributes of a window over dimensions of these sizes."""
    known = schema(d, op).attributes
    kernel = [d.pick.integer(1, max(1, min(3, n))) for n in sizes] if given is None else list(given)
    found: dict[str, Any] = {"kernel_shape": kernel} if given is None or d.pick.flip() else {}
    if d.pick.rarely(3):
        found["strides"] = [d.pick.one(2, 1, 3) for _ in sizes]
    if "dilations" in known and d.pick.rarely(4):
        found["dilations"] = [d.pick.one(2, 1) if 2 * (k - 1) < max(1, n) else 1
                              for k, n in zip(kernel, sizes, strict=True)]  # fmt: skip
    if d.pick.rarely(4):
        found["auto_pad"] = d.pick.one("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET")
    if found.get("auto_pad", "NOTSET") == "NOTSET" and d.pick.flip():
        found["pads"] = [d.pick.integer(0, max(0, k - 1)) for _ in range(2) for k in kernel]
    for name in ("ceil_mode", "count_include_pad", "storage_order"):
        if name in known and d.pick.rarely(4):
            found[name] = 1
    return found


@drawing("MaxPool", "AveragePool", "LpPool")
def _pool(d: Draft, op: str) -> None:
    x = d.some(types_of(op, d.opset, 0), _image, lambda: _image_shape(d))
    results = 2 if op == "MaxPool" and d.pick.rarely(4) else 1
    d.add(op, [x.name], _window(d, op, x.shape[2:]), results)


@drawing("GlobalAveragePool", "GlobalMaxPool")
def _global(d: Draft, op: str) -> None:
    d.add(op, [d.some(types_of(op, d.opset, 0), _image, lambda: _image_shape(d)).name], {})


def _weights(d: Draft, x: Operand, transposed: bool = False) -> tuple[list[int], dict[str, Any], int]:
    """The shape of weights, the number of groups as an attribute, and how many channels result."""
    channels = x.shape[1]
    groups = d.pick.among([g for g in range(1, max(1, channels) + 1) if channels % g == 0]) if d.pick.flip() else 1
    own = d.pick.integer(1, 3)
    kernel = [d.pick.integer(1, max(1, min(3, n))) for n in x.shape[2:]]
    shape = [channels, own, *kernel] if transposed else [own * groups, channels // groups, *kernel]
    return shape, {"group": groups} if groups > 1 else {}, own * groups


@drawing("Conv", "ConvTranspose")
def _conv(d: Draft, op: str) -> None:
    x = d.some(types_of(op, d.opset, 0), lambda v: _image(v) and v.shape[1] > 0, lambda: _image_shape(d))
    shape, attributes, channels = _weights(d, x, op == "ConvTranspose")
    operands = [x.name, d.new(x.dtype, shape, constant=not d.pick.rarely(4)).name]
    if d.pick.flip():
        operands.append(d.like(x.dtype, (channels,)).name)
    attributes |= _window(d, op, x.shape[2:], shape[2:])
    if op == "ConvTranspose" and d.pick.rarely(4):
        attributes["output_padding"] = [d.pick.integer(0, s - 1) for s in attributes.get("strides", [1] * (x.rank - 2))]
    d.add(op, operands, attributes)


@drawing("ConvInteger")
def _conv_integer(d: Draft, op: str) -> None:
    x = d.some(("uint8", "int8"), lambda v: _image(v) and v.shape[1] > 0, lambda: _image_shape(d))
    shape, attributes, _ = _weights(d, x)
    w = d.new(d.pick.one("uint8", "int8"), shape)
    zeros = [d.new(v.dtype, (), constant=True).name if d.pick.flip() else "" for v in (x, w)]
    d.add(op, [x.name, w.name, *zeros], attributes | _window(d, op, x.shape[2:], shape[2:]))


@drawing("QLinearConv")
def _qlinear_conv(d: Draft, op: str) -> None:
    x = d.some(("uint8", "int8"), lambda v: _image(v) and v.shape[1] > 0, lambda: _image_shape(d))
    shape, attributes, channels = _weights(d, x)
    w = d.new(d.pick.one("uint8", "int8") if x.dtype == "uint8" else "int8", shape, constant=True)
    z = d.new(x.dtype, (), constant=True)
    zeros = [d.new(v.dtype, (), constant=True).name for v in (x, w)]
    operands = [x.name, _scale(d), zeros[0], w.name, _scale(d, (channels,) if d.pick.flip() else ()), zeros[1],
                _scale(d), z.name]  # fmt: skip
    operands += [d.new("int32", (channels,), (-50, 50), constant=True).name] if d.pick.flip() else []
    d.add(op, operands, attributes | _window(d, op, x.shape[2:], shape[2:]))


@drawing("Resize", "Upsample")
def _resize(d: Draft, op: str) -> None:
    x = d.some(types_of(op, d.opset, 0), lambda v: v.rank >= 1 and 0 not in v.shape,
               lambda: [max(1, n) for n in d.shape(1)])  # fmt: skip
    scales = [d.pick.one(1.0, 2.0, 0.5, 1.5, 3.0) if n > 1 else d.pick.one(1.0, 2.0) for n in x.shape]
    mode = (
        d.pick.one("nearest", "linear", "cubic")
        if op == "Resize" and d.opset >= 11
        else d.pick.one("nearest", "linear")
    )
    attributes: dict[str, Any] = {"mode": mode}
    if op == "Upsample" and d.opset < 9:
        d.add(op, [x.name], attributes | {"scales": [max(1.0, s) for s in scales]})
        return
    if op == "Upsample" or d.opset < 11:
        d.add(op, [x.name, d.given(np.array([max(1.0, s) if op == "Upsample" else s for s in scales], "f4")).name],
              attributes)  # fmt: skip
        return
    places = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"]
    places += ["half_pixel_symmetric"] if d.opset >= 19 else []
    if d.pick.flip():
        attributes["coordinate_transformation_mode"] = d.pick.one(*places)
    if mode == "nearest" and d.pick.flip():
        attributes["nearest_mode"] = d.pick.one("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    if d.opset >= 18 and mode != "nearest" and d.pick.rarely(4):
        attributes["antialias"] = 1
    if d.pick.flip():
        d.add(op, [x.name, "", d.given(np.array(scales, "f4")).name], attributes)
    else:
        d.add(op, [x.name, "", "", d.integers([max(1, int(n * s)) for n, s in zip(x.shape, scales, strict=True)])],
              attributes)  # fmt: skip


__all__: list[str] = []
