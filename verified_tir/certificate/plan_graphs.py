"""The graphs of plans: read in one spelling, compared with a model, and the elements of their constants."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from verified_tir.certificate.store import constant_bytes, constant_path
from verified_tir.graph.element_types import array_dtype
from verified_tir.graph.errors import GraphError
from verified_tir.graph.ir import Array, Graph, TensorType, Value
from verified_tir.graph.program import program_key, program_of
from verified_tir.graph.text import graph_text, is_written, parse_graph
from verified_tir.ir.equal import structural_equal


def array_hash(array: Array) -> str:
    """SHA-256 of an array: its type, its shape, its bytes in C order."""
    digest = hashlib.sha256(f"{array.dtype}{list(array.shape)}".encode())
    digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def read_graph(plan: Mapping[str, Any], which: str) -> Graph:
    """The graph before or after; elements of constants that are not in the text are unknown, and take no room.

    They are not numbers (in types that have these), since numbers, if they are few, stand in the text.  So the text of
    the graph can be compared with the one that was read: there is one spelling, and nothing is passed over.

    :raises GraphError: if the text is none, or spelled in another way than ``graph_text`` does.
    """
    constants = plan["constants"][which]
    arrays: dict[str, Array] = {name: _unknown(c["dtype"], c["shape"]) for name, c in constants.items()}
    text = "\n".join(plan[which]["text"])
    graph = parse_graph(text, arrays, which)
    if {v.name for v in graph.constants} != constants.keys():
        raise GraphError(f"the constants of the graph {which} are not those that are listed")
    for v in graph.constants:
        c = constants[v.name]
        if (c["dtype"], tuple(c["shape"])) != (v.dtype, v.shape):
            raise GraphError(f"the constant {v.name} of the graph {which} is {v.type}, not what is listed")
    again = graph_text(graph)
    if again != text:
        lines = enumerate(zip_longest(again.split("\n"), text.split("\n"), fillvalue=""), 1)
        number, (wanted, found) = next((k, pair) for k, pair in lines if pair[0] != pair[1])
        raise GraphError(f"{which}:{number}: this is not how vtir writes a graph: {found[:80]!r}, not {wanted[:80]!r}")
    return graph


def _unknown(dtype: str, shape: list[int]) -> Array:
    element = array_dtype(dtype)
    return np.broadcast_to(np.array(np.nan if element.kind == "f" else 0, element), tuple(shape))


def another_model(plan: Mapping[str, Any], before: Graph, model: Graph) -> Iterator[tuple[str, str]]:
    """What tells the graph before, or its constants, from a model's."""
    if not _same_graph(model, before):
        yield "before", "this is not the graph of the model"
        return
    for v, array in model.constants.items():
        if plan["constants"]["before"][v.name]["sha256"] != array_hash(array):
            yield f"constants.before.{v.name}", "the model has other elements"


def _same_graph(a: Graph, b: Graph) -> bool:
    """Whether two graphs have the same values, and nodes that mean the same, in the same order."""
    if [_typed(vs) for vs in (a.inputs, a.constants, a.outputs)] != [
        _typed(vs) for vs in (b.inputs, b.constants, b.outputs)
    ]:
        return False
    if len(a.nodes) != len(b.nodes) or a.zero_with != b.zero_with:
        return False
    for n, m in zip(a.nodes, b.nodes, strict=True):
        if _typed(n.inputs) != _typed(m.inputs) or _typed(n.outputs) != _typed(m.outputs):
            return False
        if program_key(n) != program_key(m) and not structural_equal(program_of(n), program_of(m)):
            return False
    return True


def _typed(values: Iterable[Value]) -> list[tuple[str, TensorType]]:
    return [(v.name, v.type) for v in values]


def written_otherwise(plan: Mapping[str, Any], which: str, v: Value, array: Array) -> str:
    """What is wrong with a constant of the graph before or after, if its elements stand in the text."""
    other = is_written(array) and plan["constants"][which][v.name]["sha256"] != array_hash(array)
    return "its hash is not that of its elements" if other else ""


def elements(folder: Path | None, v: Value, digest: str) -> Array | None:
    """The elements of a constant as they lie in a folder; ``None`` if they do not.

    :raises GraphError: if those that lie there are others, or cannot be read.
    """
    element = array_dtype(v.dtype)
    try:
        data = None if folder is None else constant_bytes(folder, digest, v.type.size * element.itemsize)
    except OSError as problem:
        raise GraphError(str(problem)) from None
    if data is None:
        return None
    array = np.frombuffer(data, element).reshape(v.shape)
    if array_hash(array) != digest:
        raise GraphError(f"{constant_path(digest)} was changed: its name is not the hash of the elements of {v.name}")
    return array
