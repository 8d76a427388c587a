"""Attributes of the function that defines tensors, from Python values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from verified_tir.index.map import IndexMap, IndexMapError
from verified_tir.ir.dtype import HANDLE
from verified_tir.ir.expr import Call, Expr, StringImm
from verified_tir.ir.script.literals import LITERAL_DICT
from verified_tir.ir.stmt import Annotations, AnnotationValue
from verified_tir.te.errors import TEError
from verified_tir.te.tensor import Tensor

_LAYOUTS = "layout_transform_map"


def attributes(given: Mapping[str, Any]) -> Annotations:
    """The attributes as the IR stores them.

    :raises TEError: if a value has another form.
    """
    return tuple((key, _layouts(value) if key == _LAYOUTS else _value(key, value)) for key, value in given.items())


def _value(key: str, value: Any) -> AnnotationValue:
    if isinstance(value, (bool, int, float, str, Expr)):
        return value
    if isinstance(value, (list, tuple)):
        return tuple(_value(key, v) for v in value)
    raise TEError(f"the attribute {key!r} is a number, a string, or a list of these, not {value!r}")


def _layouts(maps: Any) -> Call:
    """RFC 39's ``layout_transform_map``: tensors, or their names, and what is done to their indices."""
    if not isinstance(maps, Mapping):
        raise TEError(f"{_LAYOUTS} maps tensors to index maps or lists of these: {{B: lambda i, j: [j, i]}}")
    texts: dict[str, list[str]] = {}
    for tensor, value in maps.items():
        if not isinstance(tensor, (Tensor, str)):
            raise TEError(f"the keys of {_LAYOUTS} are tensors or their names, not {tensor!r}")
        name, rank = (tensor.name, tensor.ndim) if isinstance(tensor, Tensor) else (tensor, None)
        for given in value if isinstance(value, (list, tuple)) else [value]:
            m = given if isinstance(given, (IndexMap, str)) else _from_function(name, given, rank)
            texts.setdefault(name, []).append(str(m))
            rank = len(m.outputs) if isinstance(m, IndexMap) else None
    return Call(HANDLE, LITERAL_DICT, (StringImm(json.dumps(texts)),))


def _from_function(name: str, function: Any, rank: int | None) -> IndexMap:
    if not callable(function):
        raise TEError(f"{_LAYOUTS}: the layout of {name} is a function of its indices, not {function!r}")
    if rank is None:
        raise TEError(
            f"{_LAYOUTS}: how many dimensions {name} has is not known here; use the tensor as key, or write all maps "
            'as strings ("lambda i, j: [j, i]")'
        )
    try:
        return IndexMap.from_func(function, rank)
    except IndexMapError as problem:
        raise TEError(f"{_LAYOUTS}: {name}: {problem}") from None
