"""Weights with other shapes, types, elements, in other files; operands that must be constants."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from tests.graph.malformed.case import Case, changed, model_of, put


def tensors() -> Iterator[Case]:
    """Weights with other shapes, types, numbers of elements; constants in nodes, too."""
    m = model_of("operators")
    for k, t in enumerate(m.graph.initializer):
        if k % 3 and t.name not in ("b", "gw"):
            continue

        def change(what: str, f: Callable[[Any], Any], k: int = k, name: str = t.name) -> Case:
            return changed(f"tensor: {name}, {what}", "operators", lambda m: f(m.graph.initializer[k]))

        yield change("a byte less", lambda t: setattr(t, "raw_data", t.raw_data[:-1]))
        yield change("a byte more", lambda t: setattr(t, "raw_data", t.raw_data + b"\0"))
        yield change("no elements", lambda t: setattr(t, "raw_data", b""))
        yield change("twice the elements", lambda t: setattr(t, "raw_data", t.raw_data * 2))
        yield change("floats beside its bytes", lambda t: t.float_data.extend([1.0]))
        yield change(
            "strings",
            lambda t: (
                setattr(t, "data_type", 8),
                t.ClearField("raw_data"),
                t.string_data.extend([b"1"] * math.prod(t.dims)),
            ),
        )
        yield change("another dimension", lambda t: t.dims.extend([1]))
        yield change("a dimension of 0", lambda t: t.dims.extend([0]))
        yield change("a dimension of -1", lambda t: t.dims.extend([-1]))
        yield change("a dimension of 2**40", lambda t: t.dims.extend([2**40]))
        yield change("dimensions whose product wraps", lambda t: t.dims.extend([2**32, 2**32]))
        yield change("no type", lambda t: t.ClearField("data_type"))
        yield change("type 99", lambda t: setattr(t, "data_type", 99))
        yield change("type -1", lambda t: setattr(t, "data_type", -1))
        yield change("of another type", lambda t: setattr(t, "data_type", 6 if t.data_type != 6 else 1))
        yield change(
            "float_data of a wrong length", lambda t: (t.ClearField("raw_data"), t.float_data.extend([1.0] * 3))
        )
        yield change("a segment", lambda t: (setattr(t.segment, "begin", 0), setattr(t.segment, "end", 9)))

    def constant(m: Any, change: Callable[[Any], Any]) -> None:
        array = numpy_helper.from_array(np.array([1, 3, 4], np.int64))
        change(array)
        node = next(n for n in m.graph.node if n.op_type == "Reshape")
        m.graph.node.insert(0, helper.make_node("Constant", [], ["constant"], name="the_constant", value=array))
        node.input[1] = "constant"

    for what, f in {
        "a byte less": lambda t: setattr(t, "raw_data", t.raw_data[:-1]),
        "type 99": lambda t: setattr(t, "data_type", 99),
        "strings": lambda t: (
            setattr(t, "data_type", 8),
            t.ClearField("raw_data"),
            t.string_data.extend([b"1", b"3", b"4"]),
        ),
        "negative dimension": lambda t: t.dims.__setitem__(0, -3),
        "huge dimension": lambda t: t.dims.__setitem__(0, 2**50),
    }.items():
        yield changed(f"tensor: Constant, {what}", "operators", lambda m, f=f: constant(m, f))
    yield changed("tensor: a sparse one", "operators", _sparse)
    yield changed(
        "tensor: NaN where an axis is expected", "operators", lambda m: _replace(m, "CumSum", 1, np.float32("nan"))
    )
    for op, k, value in (
        ("CumSum", 1, np.int64(9)),
        ("TopK", 1, np.array([0], np.int64)),
        ("TopK", 1, np.array([99], np.int64)),
        ("TopK", 1, np.array([-1], np.int64)),
        ("OneHot", 1, np.int64(-4)),
        ("OneHot", 1, np.int64(2**40)),
        ("Slice", 1, np.array([1], np.int64)),
        ("Slice", 3, np.array([0, 0], np.int64)),
        ("Slice", 3, np.array([0, 7], np.int64)),
        ("Slice", 4, np.array([0, 1], np.int64)),
        ("Slice", 1, np.array([-(2**63), 2**63 - 1], np.int64)),
        ("Gather", 1, np.array([5], np.int64)),
        ("Gather", 1, np.array([-9], np.int64)),
        ("Pad", 1, np.array([1], np.int64)),
        ("Pad", 1, np.array([-9] * 8, np.int64)),
        ("Pad", 1, np.array([2**40] * 8, np.int64)),
        ("Reshape", 1, np.array([-1, -1], np.int64)),
        ("Reshape", 1, np.array([5], np.int64)),
        ("Reshape", 1, np.array([-7], np.int64)),
        ("Expand", 1, np.array([3, 3, 3, 3], np.int64)),
        ("Expand", 1, np.array([2**40], np.int64)),
        ("Expand", 1, np.array([-1], np.int64)),
        ("Tile", 1, np.array([-1] * 4, np.int64)),
        ("Tile", 1, np.array([2**30] * 4, np.int64)),
        ("Tile", 1, np.array([1], np.int64)),
        ("ReduceSum", 1, np.array([7], np.int64)),
        ("ReduceSum", 1, np.array([1, 1], np.int64)),
        ("Split", 1, np.array([1, 1], np.int64)),
        ("Split", 1, np.array([-1, 4], np.int64)),
        ("Split", 1, np.array([1, 1, 1], np.int64)),
        ("Unsqueeze", 1, np.array([0, 0], np.int64)),
        ("Squeeze", 1, np.array([1], np.int64)),
        ("Squeeze", 1, np.array([-9], np.int64)),
        ("Resize", 2, np.array([1, 1, 1e9, 1e9], np.float32)),
        ("Resize", 2, np.array([1, 1, -1, 1], np.float32)),
        ("Resize", 2, np.array([1, 1, np.nan, 1], np.float32)),
        ("Resize", 2, np.array([0.5], np.float32)),
        ("Clip", 1, np.array([1, 2], np.float32)),
        ("Clip", 1, np.float32("nan")),
        ("Trilu", 1, np.int64(2**62)),
        ("QuantizeLinear", 1, np.float32(0)),
        ("QuantizeLinear", 1, np.ones(7, np.float32)),
        ("QuantizeLinear", 2, np.float32(0)),
        ("LSTM", 1, np.ones((1, 11, 5), np.float32)),
        ("LSTM", 2, np.ones((2, 12, 3), np.float32)),
        ("Where", 0, np.ones(5, bool)),
        ("Where", 0, np.ones(6, np.float32)),
    ):
        text = np.array2string(np.asarray(value), threshold=4).replace("\n", "")
        yield changed(
            f"tensor: operand {k} of {op} is {np.asarray(value).dtype} {text}",
            "operators",
            lambda m, o=op, k=k, v=value: _replace(m, o, k, v),
            "node ",  # this one, or one that its result does not fit
        )


def _replace(m: Any, op: str, k: int, value: Any) -> None:
    m.graph.initializer.append(numpy_helper.from_array(np.asarray(value), "replaced"))
    next(n for n in m.graph.node if n.op_type == op).input[k] = "replaced"


def _sparse(m: Any) -> None:
    t = m.graph.initializer[0]
    values = numpy_helper.from_array(np.ones(1, np.float32), t.name)
    places = numpy_helper.from_array(np.array([10**9], np.int64))
    m.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, list(t.dims)))
    del m.graph.initializer[0]


def external() -> Iterator[Case]:
    """Weights that stand in a file beside the model, or do not."""

    def case(what: str, entries: dict[str, str], prepare: Callable[[Path], Any] = lambda folder: None) -> Case:
        def write(folder: Path) -> None:
            m = model_of("operators")
            t = m.graph.initializer[0]
            put(folder / "weights", t.raw_data)
            t.ClearField("raw_data")
            t.data_location = TensorProto.EXTERNAL
            for key, value in entries.items():
                t.external_data.add(key=key, value=value)
            prepare(folder)
            put(folder / "m.onnx", m.SerializeToString())

        return Case(f"external: {what}", write)

    yield case("as it should be", {"location": "weights"})
    yield case("no entries", {})
    yield case("no such file", {"location": "nowhere"})
    yield case("an empty place", {"location": ""})
    yield case("a folder", {"location": "."})
    yield case("outside of the folder", {"location": "../weights"})
    yield case("an absolute path", {"location": "/etc/hostname"})
    yield case("a device", {"location": "/dev/zero"})
    yield case("a link to a device", {"location": "zero"}, lambda folder: os.symlink("/dev/zero", folder / "zero"))
    yield case(
        "a link out of the folder", {"location": "link"}, lambda folder: os.symlink("/etc/hostname", folder / "link")
    )
    yield case("a pipe that nobody writes to", {"location": "pipe"}, lambda folder: os.mkfifo(folder / "pipe"))
    yield case("the model itself", {"location": "m.onnx"})
    for key in ("offset", "length"):
        for value in ("-1", "1", "x", "", str(2**40), "9" * 5000):
            yield case(f"{key} {value[:20]}", {"location": "weights", key: value})
    yield case("a file that is too short", {"location": "weights"}, lambda folder: put(folder / "weights", b"\0" * 7))
    yield case("a file that is too long", {"location": "weights"}, lambda folder: put(folder / "weights", b"\0" * 9999))
    yield case("no letters", {"location": "weights\0"})
