"""Arguments of primitives as a record of the schedule shows them, and loops as messages do."""

from __future__ import annotations

from verified_tir.index.map import IndexMap
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, IntImm, Var
from verified_tir.ir.stmt import Block, For, Store
from verified_tir.ir.visit import nodes_of


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
    return value if isinstance(value, str) and value.isprintable() else repr(value)


def map_text(index_map: object) -> str:
    if isinstance(index_map, IndexMap):
        return str(index_map)
    try:
        count = index_map.__code__.co_argcount  # type: ignore[attr-defined]
        return str(IndexMap.from_func(index_map, count))  # type: ignore[arg-type]
    except Exception:  # only a name for the record
        return "<index map>"


def described(value: object) -> str:
    """A value that is not a handle, in a message."""
    return f"the buffer {value.name}" if isinstance(value, Buffer) else repr(value)


def loop_range(loop: For) -> str:
    """A loop's variable and range."""
    from verified_tir.ir.script import script

    low, extent = loop.min, loop.extent
    zero = isinstance(low, IntImm) and low.value == 0
    return f"{loop.var.name} in range({script(extent) if zero else f'{script(low)}, {script(low + extent)}'})"


def loop_described(loop: For) -> str:
    """A loop in a list of several: its range, and what stands in it."""
    blocks = [n.name for n in nodes_of(loop.body, Block)]
    stores = [n.buffer.name for n in nodes_of(loop.body, Store)]
    what = f" around block {blocks[0]}" if blocks else f" around a store to {stores[0]}" if stores else ""
    return f"{loop_range(loop)}{what}"
