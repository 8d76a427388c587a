"""What a model says of its values, beside the nodes that compute them: each has one name and one type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verified_tir.graph.errors import GraphError
from verified_tir.graph.sizes import shape_text

if TYPE_CHECKING:
    from verified_tir.graph.onnx.load import Reader


def check_names(graph: Any) -> None:
    """:raises GraphError: if two inputs or two initializers have one name; an input may have a value."""
    for what, some in (("initializers", graph.initializer), ("inputs", graph.input)):
        names = [one.name for one in some]
        if len(set(names)) != len(names):
            raise GraphError(f"two {what} of the model are called {next(n for n in names if names.count(n) > 1)}")


def check_types(reader: Reader, graph: Any) -> None:
    """:raises GraphError: if the model says another type of a result, or of a value between, than that has."""
    for o in graph.output:
        _check_type(reader, o, "result")
    for v in graph.value_info:
        if v.name in reader.known or v.name in reader.arrays or v.name in reader.counts:
            _check_type(reader, v, "value")


def _check_type(reader: Reader, said: Any, what: str) -> None:
    """Extents that are open here, or there (also written as 0 or -1), may be the same."""
    wanted, name = said.type.tensor_type, said.name
    found = reader.type(name, None).tensor_type
    if wanted.elem_type not in (0, found.elem_type):
        here, there = (reader.dtype(t.elem_type, f"the {what} {name}") for t in (found, wanted))
        raise GraphError(f"the {what} {name} is {there} by the model, and {here} here")
    if not wanted.HasField("shape"):
        return
    dims, extents = reader.dims(name), wanted.shape.dim
    pairs = zip(extents, dims, strict=False)
    if len(extents) != len(dims) or any(isinstance(e, int) and d.dim_value > 0 and d.dim_value != e for d, e in pairs):
        shape = ", ".join(str(d.dim_param or d.dim_value or "?") for d in extents)
        raise GraphError(f"the {what} {name} has the shape [{shape}] by the model, and {shape_text(dims)} here")
