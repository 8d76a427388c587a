"""How nodes of ONNX operators are drawn that are whole layers: recurrent ones, attention, losses, and others."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.fuzz.onnx_models.case import element, numpy_type
from tests.fuzz.onnx_models.draft import Draft, types_of
from tests.fuzz.onnx_models.operators import INTS, drawing


@drawing("Attention")
def _attention(d: Draft, op: str) -> None:
    batch, groups, heads = d.pick.one(1, 2), d.pick.one(1, 2), d.pick.one(1, 2)
    length, others, deep, wide = (d.pick.one(2, 3, 1, 4) for _ in range(4))
    dtype = d.dtype(types_of(op, d.opset, 0))
    shapes = ((groups * heads, length, deep), (heads, others, deep), (heads, others, wide))
    operands = [d.like(dtype, (batch, *s)).name for s in shapes]
    attributes: dict[str, Any] = {}
    match d.pick.one("plain", "mask", "truths", "causal"):
        case "mask":
            operands.append(d.like(dtype, (length, others)).name)
        case "truths":
            operands.append(d.like("bool", (length, others)).name)
        case "causal":
            attributes["is_causal"] = 1
    attributes |= {"scale": d.pick.one(0.5, 1.0)} if d.pick.flip() else {}
    attributes |= {"softcap": 2.0} if d.pick.rarely(4) else {}
    d.add(op, operands, attributes)


@drawing("RotaryEmbedding")
def _rotary(d: Draft, op: str) -> None:
    batch, heads, length, half = d.pick.one(1, 2), d.pick.one(1, 2), d.pick.one(2, 1, 3), d.pick.one(1, 2, 3)
    dtype = d.dtype(types_of(op, d.opset, 0))
    x = d.like(dtype, (batch, heads, length, 2 * half))
    attributes: dict[str, Any] = {"interleaved": 1} if d.pick.flip() else {}
    if d.pick.flip():
        caches = [d.like(dtype, (batch, length, half)).name for _ in range(2)]
        d.add(op, [x.name, *caches], attributes)
    else:
        caches = [d.like(dtype, (5, half)).name for _ in range(2)]
        d.add(op, [x.name, *caches, d.new("int64", (batch, length), (0, 4)).name], attributes)


@drawing("CenterCropPad")
def _centred(d: Draft, op: str) -> None:
    x = d.some(types_of(op, d.opset, 0), lambda v: v.rank > 0, lambda: d.shape(1))
    axes = d.axes(x.rank, 1) if d.pick.flip() else None
    shape = [d.pick.one(2, 1, 3, 6) for _ in (range(x.rank) if axes is None else axes)]
    d.add(op, [x.name, d.integers(shape, d.pick.one(*INTS))], {} if axes is None else {"axes": axes})


@drawing("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def _loss(d: Draft, op: str) -> None:
    x = d.some(
        types_of(op, d.opset, 0), lambda v: v.rank >= 2 and v.shape[1] > 0, lambda: (d.extent(), 3, *d.shape(0, 2))
    )
    target = d.new(d.pick.one(*INTS), (x.shape[0], *x.shape[2:]), (0, x.shape[1] - 1))
    operands = [x.name, target.name, *([d.like(x.dtype, (x.shape[1],)).name] if d.pick.rarely(3) else [])]
    attributes: dict[str, Any] = {"reduction": d.pick.one("mean", "none", "sum")} if d.pick.flip() else {}
    attributes |= {"ignore_index": d.pick.one(0, 1, -1)} if d.pick.rarely(4) else {}
    d.add(op, operands, attributes, d.pick.one(1, 2) if op.startswith("Softmax") else 1)


@drawing("HannWindow", "HammingWindow", "BlackmanWindow")
def _taper(d: Draft, op: str) -> None:
    size = d.given(np.array(d.pick.one(4, 1, 3, 10), d.pick.one(*INTS)))
    attributes = {"periodic": d.pick.one(1, 0)} if d.pick.flip() else {}
    attributes |= {"output_datatype": element(d.pick.one("float32", "float64", "float16"))} if d.pick.flip() else {}
    d.add(op, [size.name], attributes)


@drawing("Range")
def _range(d: Draft, op: str) -> None:
    dtype = numpy_type(d.dtype(types_of(op, d.opset, 0)))
    step = d.pick.one(1, 2, -1, 3)
    numbers = (d.pick.integer(-3, 3), d.pick.integer(-3, 8), step)
    d.add(op, [d.given(np.array(n).astype(dtype)).name for n in numbers], {})


@drawing("AffineGrid")
def _grid(d: Draft, op: str) -> None:
    batch, space = d.pick.one(2, 3), d.pick.one(2, 3)
    theta = d.like(d.dtype(types_of(op, d.opset, 0)), (batch, space, space + 1))
    size = d.integers([batch, 2, *(d.pick.one(2, 3) for _ in range(space))])
    d.add(op, [theta.name, size], {"align_corners": 1} if d.pick.flip() else {})


@drawing("RNN", "GRU", "LSTM")
def _recurrent(d: Draft, op: str) -> None:
    length, batch, size, hidden = d.pick.integer(1, 3), d.pick.integer(1, 2), d.pick.integer(1, 3), d.pick.integer(1, 3)
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op]
    direction = d.pick.one("forward", "reverse", "bidirectional")
    both = 2 if direction == "bidirectional" else 1
    dtype = d.dtype(types_of(op, d.opset, 0))
    x = d.some((dtype,), lambda v: v.rank == 3 and 0 not in v.shape, lambda: (length, batch, size))
    length, batch, size = x.shape
    operands = [x.name, d.like(x.dtype, (both, gates * hidden, size)).name,
                d.like(x.dtype, (both, gates * hidden, hidden)).name]  # fmt: skip
    operands.append(d.like(x.dtype, (both, 2 * gates * hidden)).name if d.pick.flip() else "")
    operands.append("")
    states = [
        d.like(x.dtype, (both, batch, hidden)).name if d.pick.rarely(3) else "" for _ in range(1 + (op == "LSTM"))
    ]
    attributes: dict[str, Any] = {"hidden_size": hidden, "direction": direction}
    if op == "GRU" and d.pick.flip():
        attributes["linear_before_reset"] = 1
    d.add(op, [*operands, *states], attributes, d.pick.integer(1, 3 if op == "LSTM" else 2))


__all__: list[str] = []
