"""Files that are cut off; names and types that do not fit."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from tests.graph.malformed.case import Case, base_bytes, changed, nodes_of, of_bytes, put_name


def files() -> Iterator[Case]:
    """Files that are cut off, or have other bytes."""
    yield of_bytes("file: empty", b"")
    yield of_bytes("file: text", b"a model, but of words\n")
    yield of_bytes("file: an endless number", b"\xff" * 64)
    yield of_bytes("file: a length beyond its end", b"\x3a\xff\xff\xff\xff\x7f")
    yield of_bytes("file: nested groups", b"\x0b" * 100_000)
    yield of_bytes("file: nested messages", _nested(20_000))
    for base in ("operators", "control", "functions"):
        data = base_bytes(base)
        for k in range(1, 8):
            yield of_bytes(f"file: {base}, {k} of 8 parts", data[: len(data) * k // 8])
        yield of_bytes(f"file: {base}, all but a byte", data[:-1])
        yield of_bytes(f"file: {base}, twice", data + data)
        rng = random.Random(base)
        for k in range(12):
            changed = bytearray(data)
            for _ in range(1 + k % 3):
                changed[rng.randrange(len(changed))] = rng.randrange(256)
            yield of_bytes(f"file: {base}, other bytes {k}", bytes(changed))


def _nested(depth: int) -> bytes:
    """A graph in an attribute of a node of a graph in an attribute of a node …"""

    def field(number: int, data: bytes) -> bytes:
        size, n = b"", len(data)
        while True:
            size += bytes([n & 127 | (128 if n > 127 else 0)])
            n >>= 7
            if not n:
                return bytes([number << 3 | 2]) + size + data

    graph = b""
    for _ in range(depth // 100):  # each level copies what is in it
        graph = field(1, field(5, field(6, graph)))
    return field(7, graph)


def names() -> Iterator[Case]:
    """Names that are missing, stand twice, or go round in a circle."""
    for base, step in (("operators", 4), ("gpt", 12), ("control", 1)):
        for k, n in enumerate(nodes_of(base)):
            if k % step == 0 and n.input:
                yield changed(
                    f"name: operand of {n.name} is nowhere",
                    base,
                    lambda m, k=k: put_name(m.graph.node[k].input, 0, "nowhere"),
                    n.name,
                )
                yield changed(
                    f"name: operand of {n.name} is empty",
                    base,
                    lambda m, k=k: put_name(m.graph.node[k].input, 0, ""),
                    n.name,
                )
                yield changed(
                    f"name: {n.name} has its own result",
                    base,
                    lambda m, k=k: put_name(m.graph.node[k].input, 0, m.graph.node[k].output[0]),
                    n.name,
                )
                yield changed(
                    f"name: {n.name} has no operands", base, lambda m, k=k: m.graph.node[k].ClearField("input"), n.name
                )
                yield changed(
                    f"name: {n.name} has no results", base, lambda m, k=k: m.graph.node[k].ClearField("output")
                )
                if n.op_type != "Scan":  # onnxruntime takes no Scan with a state that nobody uses
                    yield changed(
                        f"name: {n.name} has no name for its result",
                        base,
                        lambda m, k=k: put_name(m.graph.node[k].output, 0, ""),
                    )
                yield changed(
                    f"name: {n.name} computes x again",
                    base,
                    lambda m, k=k: put_name(m.graph.node[k].output, 0, m.graph.input[0].name),
                )
                yield changed(
                    f"name: {n.name} has another operand",
                    base,
                    lambda m, k=k: m.graph.node[k].input.extend(["x"] * 9),
                    n.name,
                )
                yield changed(
                    f"name: {n.name} has another result",
                    base,
                    lambda m, k=k: m.graph.node[k].output.extend([f"r{j}" for j in range(9)]),
                    n.name,
                )
                yield changed(
                    f"name: {n.name} has no operator", base, lambda m, k=k: m.graph.node[k].ClearField("op_type")
                )
                yield changed(
                    f"name: {n.name} is of no domain",
                    base,
                    lambda m, k=k: setattr(m.graph.node[k], "domain", "nobody"),
                    n.name,
                )
                yield changed(
                    f"name: {n.name} has an overload",
                    base,
                    lambda m, k=k: setattr(m.graph.node[k], "overload", "other"),
                )
    yield changed("name: nodes backwards", "operators", lambda m: _backwards(m.graph.node))
    yield changed(
        "name: a circle of two",
        "operators",
        lambda m: put_name(m.graph.node[1].input, 0, m.graph.node[3].output[0]),
        nodes_of("operators")[1].name,
    )
    yield changed(
        "name: a result computed nowhere", "operators", lambda m: setattr(m.graph.output[0], "name", "nowhere")
    )
    yield changed("name: a result without a name", "operators", lambda m: setattr(m.graph.output[0], "name", ""))
    yield changed("name: a result twice", "operators", lambda m: m.graph.output.append(m.graph.output[0]))
    yield changed("name: no results", "operators", lambda m: m.graph.ClearField("output"))
    yield changed("name: an input twice", "operators", lambda m: m.graph.input.append(m.graph.input[0]))
    yield changed("name: an input without a name", "operators", lambda m: setattr(m.graph.input[0], "name", ""))
    yield changed("name: no inputs", "operators", lambda m: m.graph.ClearField("input"))
    yield changed("name: weights twice", "operators", lambda m: m.graph.initializer.append(m.graph.initializer[0]))
    yield changed("name: weights without a name", "operators", lambda m: setattr(m.graph.initializer[0], "name", ""))
    yield changed(
        "name: weights with the input's name", "operators", lambda m: setattr(m.graph.initializer[0], "name", "x")
    )
    yield changed(
        "name: no weights", "operators", lambda m: m.graph.ClearField("initializer"), nodes_of("operators")[0].name
    )
    yield changed("name: no nodes", "operators", lambda m: m.graph.ClearField("node"))
    yield changed("name: no graph", "operators", lambda m: m.ClearField("graph"))
    yield changed("name: a graph without a name", "operators", lambda m: m.graph.ClearField("name"))
    yield changed(
        "name: not UTF-8 letters", "operators", lambda m: setattr(m.graph.node[0], "name", "\u202e\n\x1b[2Jx")
    )


def _backwards(values: Any) -> None:
    turned = list(values)[::-1]
    del values[:]
    values.extend(turned)


def types() -> Iterator[Case]:
    """Element types and extents of inputs and results."""

    def tensor(m: Any, where: str) -> Any:
        return getattr(m.graph, where)[0].type.tensor_type

    for where in ("input", "output"):
        for element in (0, 2, 3, 7, 8, 9, 10, 14, 16, 17, 22, 99, -1):
            yield changed(
                f"type: {where} of type {element}",
                "operators",
                lambda m, e=element, w=where: setattr(tensor(m, w), "elem_type", e),
            )
        for k in (0, 1, 3):
            for size in (0, -1, -(2**63), 2**31, 2**40, 2**62, 2**63 - 1, 1000):
                yield changed(
                    f"type: {where} with {size} in {k}",
                    "operators",
                    lambda m, k=k, s=size, w=where: setattr(tensor(m, w).shape.dim[k], "dim_value", s),
                )
        yield changed(f"type: {where} without shape", "operators", lambda m, w=where: tensor(m, w).ClearField("shape"))
        yield changed(f"type: {where} of rank 0", "operators", lambda m, w=where: tensor(m, w).shape.ClearField("dim"))
        yield changed(
            f"type: {where} of rank 5000",
            "operators",
            lambda m, w=where: [tensor(m, w).shape.dim.add(dim_value=1) for _ in range(5000)],
        )
        yield changed(f"type: {where} of rank 3", "operators", lambda m, w=where: tensor(m, w).shape.dim.pop())
        yield changed(
            f"type: {where} with an open dimension",
            "operators",
            lambda m, w=where: setattr(tensor(m, w).shape.dim[0], "dim_param", "batch"),
        )
        yield changed(
            f"type: {where} without a type", "operators", lambda m, w=where: getattr(m.graph, w)[0].ClearField("type")
        )
        yield changed(
            f"type: {where} is a sequence",
            "operators",
            lambda m, w=where: getattr(m.graph, w)[0].type.sequence_type.elem_type.tensor_type.SetInParent(),
        )
        yield changed(
            f"type: {where} is optional",
            "operators",
            lambda m, w=where: getattr(m.graph, w)[0].type.optional_type.elem_type.tensor_type.SetInParent(),
        )
        yield changed(
            f"type: {where} is sparse",
            "operators",
            lambda m, w=where: getattr(m.graph, w)[0].type.sparse_tensor_type.SetInParent(),
        )
