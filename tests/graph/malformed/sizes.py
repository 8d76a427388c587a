"""Models that would take much memory or time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from onnx import helper, numpy_helper

from tests.graph.malformed.case import Case, put


def sizes() -> Iterator[Case]:
    """Models that would take much memory or time."""

    def model(what: str, nodes: list[Any], node: str = "", shape: tuple[int, ...] = (2, 3), **constants: Any) -> Case:
        def write(folder: Path) -> None:
            graph = helper.make_graph(
                nodes,
                "main_graph",
                [helper.make_tensor_value_info("x", 1, shape)],
                [helper.make_tensor_value_info("y", 1, ["n"] * 2)],
                [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()],
            )
            made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
            put(folder / "m.onnx", made.SerializeToString())

        return Case(f"size: {what}", write, node)

    huge = np.array([2**20, 2**22], np.int64)
    node = helper.make_node
    yield model(
        "ConstantOfShape",
        [node("ConstantOfShape", ["s"], ["c"], name="big"), node("ReduceSum", ["c"], ["y"])],
        "big",
        s=huge,
    )
    yield model(
        "Expand of a constant",
        [node("Expand", ["one", "s"], ["c"], name="big"), node("Add", ["x", "c"], ["y"])],
        "big",
        s=huge,
        one=np.float32(1),
    )
    yield model(
        "Range",
        [node("Range", ["zero", "n", "one"], ["c"], name="big"), node("ReduceSum", ["c"], ["y"])],
        "big",
        zero=np.int64(0),
        one=np.int64(1),
        n=np.int64(10**12),
    )
    yield model(
        "Range without end",
        [node("Range", ["zero", "n", "zero"], ["c"], name="big"), node("ReduceSum", ["c"], ["y"])],
        "big",
        zero=np.int64(0),
        n=np.int64(9),
    )
    yield model(
        "Tile of a constant",
        [node("Tile", ["one", "s"], ["c"], name="big"), node("Mul", ["x", "c"], ["y"])],
        "big",
        s=huge,
        one=np.ones((1, 1), np.float32),
    )
    yield model("Expand of x", [node("Expand", ["x", "s"], ["y"], name="big")], "", shape=(1, 1), s=huge)
    yield model("Pad of x", [node("Pad", ["x", "s"], ["y"], name="big")], "", s=np.array([2**21] * 4, np.int64))
    yield model(
        "product of x",
        [node("MatMul", ["x", "w"], ["y"], name="big")],
        "",
        shape=(2**24, 1),
        w=np.ones((1, 2**16), np.float32),
    )
    yield model(
        "Constant of many ints",
        [node("Constant", [], ["c"], name="big", value_ints=[1] * 100_000), node("Cast", ["c"], ["y"], to=1)],
    )
    steps = [node("Mul", [f"v{k}", f"v{k}"], [f"v{k + 1}"]) for k in range(25)]
    powers = [node("Constant", [], ["v0"], value_int=10), *steps, node("ConstantOfShape", ["v25"], ["y"], name="big")]
    yield model("a power that wraps", powers, "")
    chain = [node("Relu", ["x" if not k else f"v{k}"], [f"v{k + 1}" if k < 2999 else "y"]) for k in range(3000)]
    yield model("3,000 nodes", chain)
    wide = [node("Concat", [f"v{k}", f"v{k}"], [f"v{k + 1}"], axis=0, name=f"double{k}") for k in range(60)]
    yield model("doubled 60 times", [node("Identity", ["x"], ["v0"]), *wide, node("Identity", ["v60"], ["y"])])
    many = [node("Concat", ["x"] * 3000, ["y"], axis=0, name="wide")]
    yield model("3,000 operands", many)
    yield model(
        "rank 60",
        [node("Reshape", ["x", "s"], ["r"], name="deep"), node("Transpose", ["r"], ["y"])],
        "",
        s=np.array([2, 3] + [1] * 58),
    )
    yield model(
        "Einsum of 60 letters", [node("Einsum", ["x"], ["y"], equation="ab->" + "a" * 60, name="letters")], "letters"
    )
