"""Index maps in traces: TVM writes them as a graph of nodes, in a text of JSON.

    {"root_index": 13, "nodes": [{"type": "None"}, {"type": "ir.PrimType", "data": {…}}, …]}

Read and written are variables, integers, and the operations of quasi-affine maps.
"""

from __future__ import annotations

import json
from typing import Any, Final

from verified_tir.index.map import IndexMap
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Binary, Expr, FloatImm, IntImm, Var
from verified_tir.ir.sugar import binary
from verified_tir.schedule.trace_instructions import TraceError

OPERATIONS: Final = {
    "prim.Add": "add", "prim.Sub": "sub", "prim.Mul": "mul", "prim.FloorDiv": "floordiv", "prim.FloorMod": "floormod",
    "prim.Min": "min", "prim.Max": "max",
}  # fmt: skip
VERSION: Final = {"tvm_version": "0.27.0.post1"}
"""Metadata without which TVM reads no graph."""


def map_read(text: str) -> IndexMap:
    """The index map of a graph.

    :raises TraceError: if it holds something else.
    """
    reader = _Reader(text)
    inputs, outputs = reader.parts()
    try:
        return IndexMap(tuple(inputs), tuple(outputs))
    except Exception as problem:
        raise TraceError(f"not an index map: {problem}") from problem


def padding_read(text: str | None) -> Any:
    """The pad value of a ``transform_layout``: a number, if the graph is one of a constant, or ``None``.

    :raises TraceError: if it depends on the indices.
    """
    if text is None:
        return None
    _, outputs = _Reader(text).parts()
    match outputs:
        case [IntImm(value=value)] | [FloatImm(value=value)]:
            return value
    raise TraceError("a pad value that depends on the indices is not read from a trace")


class _Reader:
    """A graph of nodes."""

    def __init__(self, text: str) -> None:
        try:
            graph = json.loads(text)
            self.nodes: list[dict[str, Any]] = graph["nodes"]
            self.root: int = graph["root_index"]
        except (ValueError, KeyError, TypeError) as problem:
            raise TraceError(f"not an index map: {problem}") from problem
        self.made: dict[int, Any] = {}

    def parts(self) -> tuple[list[Var], list[Expr]]:
        """The inputs and the outputs."""
        try:
            data = self.nodes[self.root]["data"]
            return self.value(data["initial_indices"]), self.value(data["final_indices"])
        except (KeyError, IndexError, TypeError) as problem:
            raise TraceError(f"not an index map: {problem}") from problem

    def value(self, number: int) -> Any:
        if number not in self.made:
            self.made[number] = self._value(self.nodes[number])
        return self.made[number]

    def _value(self, node: dict[str, Any]) -> Any:
        kind, data = node["type"], node.get("data")
        if kind in ("int", "float", "ffi.String", "ffi.SmallStr"):
            return data
        if kind == "ffi.Array":
            return [self.value(k) for k in data or []]
        if kind == "ir.PrimType" and data is not None:
            return DType.parse(data["dtype"])
        if data is not None and kind in OPERATIONS:
            return binary(OPERATIONS[kind], self.value(data["a"]), self.value(data["b"]))  # type: ignore[arg-type]
        if data is not None and kind in ("ir.Var", "ir.IntImm", "ir.FloatImm"):
            dtype = self.value(data["ty"])
            if kind == "ir.Var":
                return Var.fresh(str(self.value(data["name"])), dtype)
            value = data["value"]
            value = self.value(value) if isinstance(value, int) and kind == "ir.IntImm" else value
            return IntImm(dtype, value) if kind == "ir.IntImm" else FloatImm(dtype, float(value))
        raise TraceError(f"an index map with {kind} is not read")


def map_written(index_map: IndexMap) -> str:
    """The graph of an index map.

    :raises TraceError: if it uses an operation that quasi-affine maps do not have, or symbols.
    """
    if index_map.separators:
        raise TraceError("an index map with axis separators is not written")
    nodes: list[dict[str, Any]] = [{"type": "None"}]
    types: dict[DType, int] = {}
    made: dict[Expr, int] = {}

    def add(kind: str, data: Any) -> int:
        nodes.append({"type": kind, "data": data})
        return len(nodes) - 1

    def type_of(dtype: DType) -> int:
        if dtype not in types:
            types[dtype] = add("ir.PrimType", {"span": 0, "dtype": str(dtype)})
        return types[dtype]

    def expr(e: Expr) -> int:
        if e not in made:
            made[e] = written(e)
        return made[e]

    def written(e: Expr) -> int:
        ty = type_of(e.dtype)
        match e:
            case Var() if e in index_map.inputs:
                return add("ir.Var", {"span": 0, "ty": ty, "name": add("ffi.String", e.name)})
            case IntImm(value=value):
                return add("ir.IntImm", {"span": 0, "ty": ty, "value": add("int", value)})
            case Binary(op=op, a=a, b=b):
                kind = next((k for k, o in OPERATIONS.items() if o == op), None)
                if kind is not None:
                    return add(kind, {"span": 0, "ty": ty, "a": expr(a), "b": expr(b)})
        raise TraceError("the index map is not quasi-affine in its indices")

    inputs = add("ffi.Array", [expr(v) for v in index_map.inputs])
    outputs = add("ffi.Array", [expr(e) for e in index_map.outputs])
    root = add("tirx.IndexMap", {"initial_indices": inputs, "final_indices": outputs, "inverse_index_map": 0})
    return json.dumps({"root_index": root, "nodes": nodes, "metadata": VERSION})
