"""The shapes of a model's inputs: numbers, sizes that are given by name, and others, which stay open."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from verified_tir.graph.errors import GraphError
from verified_tir.graph.names import Names, identifier
from verified_tir.graph.sizes import Dim, symbol

Sizes: TypeAlias = "Mapping[str, int | Sequence[int]]"
"""Numbers for dimensions, and whole shapes of inputs, by name."""


def input_shapes(graph: Any, sizes: Sizes, constants: Collection[str]) -> Iterator[tuple[str, int, list[Dim]]]:
    """Name, element type (a number of ONNX's) and shape of each input of a graph (``onnx.GraphProto``).

    A dimension that has a name (``dim_param``) is a symbol of that name, as far as it can be written; one that has none
    is called after its input and its place: ``x_0``.

    :param constants: names of inputs that are none, since they have a value.
    :raises GraphError: for an input that is not a tensor, or a size that does not fit.
    """
    inputs = [i for i in graph.input if i.name not in constants]
    for i in inputs:
        if not i.type.HasField("tensor_type"):
            raise GraphError(f"the input {i.name} is not a tensor")
    named = _named(inputs)
    given = _given(inputs, sizes, named)
    for i in inputs:
        _check_dims(i)
        dims = i.type.tensor_type.shape.dim
        shape = [given.get(key, symbol(named[key])) if (key := _key(i, k)) else d.dim_value for k, d in enumerate(dims)]
        yield i.name, i.type.tensor_type.elem_type, shape


def _check_dims(i: Any) -> None:
    """:raises GraphError: for a dimension below -1; by some exporters' habit, -1 is one that is open."""
    for k, d in enumerate(i.type.tensor_type.shape.dim):
        if d.HasField("dim_value") and d.dim_value < -1:
            raise GraphError(
                f"the input {i.name} has size {d.dim_value} in dimension {k}; give the model sizes of 0 and more, or a "
                "name for a size that is open"
            )


def _key(i: Any, k: int) -> tuple[str, int] | str:
    """What a dimension that is open is known by: its name, or its place; nothing for one that has a size."""
    d = i.type.tensor_type.shape.dim[k]
    if d.HasField("dim_value") and d.dim_value >= 0:
        return ""
    return d.dim_param or (i.name, k)


def _named(inputs: Sequence[Any]) -> dict[tuple[str, int] | str, str]:
    """The symbols' names; different ones for different dimensions."""
    keys = dict.fromkeys(key for i in inputs for k in range(len(i.type.tensor_type.shape.dim)) if (key := _key(i, k)))
    names = Names(("min", "max", "float"))
    plain = {key: names.fresh(key) for key in keys if isinstance(key, str) and identifier(key) == key}
    others = {k: names.fresh(identifier(k if isinstance(k, str) else f"{k[0]}_{k[1]}")) for k in keys if k not in plain}
    return plain | others


def _given(
    inputs: Sequence[Any], sizes: Sizes, named: Mapping[tuple[str, int] | str, str]
) -> dict[tuple[str, int] | str, int]:
    """The numbers of dimensions that are open in the model."""
    keys = {**{name: key for key, name in named.items()}, **{key: key for key in named if isinstance(key, str)}}
    by_name = {i.name: i for i in inputs}
    found: dict[tuple[str, int] | str, int] = {}

    def give(key: tuple[str, int] | str, size: int, where: str) -> None:
        if found.setdefault(key, size) != size:
            raise GraphError(f"{where} is given {size} for {named[key]}, which is {found[key]} elsewhere")

    for name, size in sizes.items():
        if name not in keys and name not in by_name:
            raise GraphError(
                f"the model has no input or dimension {name}; it has {', '.join([*by_name, *named.values()])}"
            )
        if name in keys and isinstance(size, int):
            give(keys[name], size, name)
            continue
        if name not in by_name:
            raise GraphError(
                f"{name} is one dimension, and is given {list(size) if not isinstance(size, int) else size}"
            )
        whole = (size,) if isinstance(size, int) else tuple(size)
        dims = by_name[name].type.tensor_type.shape.dim
        if len(whole) != len(dims):
            raise GraphError(f"the input {name} has {len(dims)} dimensions, and is given {len(whole)}")
        for k, n in enumerate(whole):
            if key := _key(by_name[name], k):
                give(key, n, f"the input {name}")
            elif dims[k].dim_value != n:
                has = f"the input {name} has size {dims[k].dim_value} in dimension {k} by the model"
                raise GraphError(f"{has}, and is given {n}")
    return found
