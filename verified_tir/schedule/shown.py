"""Arguments of primitives as a record of the schedule shows them."""

from __future__ import annotations

from verified_tir.index.map import IndexMap
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, Var


def listed(values: object) -> object:
    return list(values) if isinstance(values, tuple) else values


def short(value: object) -> str:
    """An argument as a record shows it."""
    if isinstance(value, (Var, Buffer)):
        return value.name
    if isinstance(value, Expr):
        from verified_tir.ir.script import script

        return script(value)
    if callable(value):
        return "<function>"
    return str(value) if isinstance(value, str) else repr(value)


def map_text(index_map: object) -> str:
    if isinstance(index_map, IndexMap):
        return str(index_map)
    try:
        count = index_map.__code__.co_argcount  # type: ignore[attr-defined]
        return str(IndexMap.from_func(index_map, count))  # type: ignore[arg-type]
    except Exception:  # only a name for the record
        return "<index map>"
