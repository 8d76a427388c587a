"""Calls of the primitives about a block's iteration variables, copies that follow them, and notes at blocks."""

from __future__ import annotations

from verified_tir.ir.paths import Path
from verified_tir.testing.scheduling.choices import Choices
from verified_tir.testing.scheduling.inventory import NOBODY, Inventory, call, listed, quoted
from verified_tir.testing.scheduling.loops import licence
from verified_tir.testing.scheduling.staging import SCOPES, read_in, written_in
from verified_tir.testing.scheduling.step import writes

TYPES = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "bfloat16", "nothing")


def mapping(inventory: Inventory, pick: Choices, path: Path | None) -> str:
    """A map of as many iteration variables as there are loops around a block, mostly."""
    count = 2 if path is None else len(inventory.around(path))
    names = [f"v{k}" for k in range(count)]
    outputs = list(names)
    match pick.number(6):
        case 0 if count > 1:
            outputs[0], outputs[1] = outputs[1], outputs[0]
        case 1 if count > 1:
            outputs[:2] = [f"v0 * {pick.one((4, 8, 3))} + v1"]
        case 2 if count:
            outputs[-1:] = [f"v{count - 1} // 2", f"v{count - 1} % 2"]
        case 3:
            outputs.append("0")
        case 4:
            outputs = outputs[: max(1, count - 1)]
    return f"lambda {', '.join(names)}: {listed(outputs)}"


@writes("storage_align")
def storage_align(inventory: Inventory, pick: Choices) -> str:
    block, _ = inventory.block(pick)
    axis, factor = pick.one(("0", "-1", "1", "5")), pick.one(("8", "1", "0", "32"))
    return call("storage_align", block, pick.one(("0", "0", "1")), axis, factor, pick.one(("1", "0", "-1")))


@writes("rolling_buffer")
def rolling_buffer(inventory: Inventory, pick: Choices) -> str:
    return call("rolling_buffer", inventory.block(pick)[0], pick.one(("0", "0", "0", "1")))


@writes("add_unit_loop")
def add_unit_loop(inventory: Inventory, pick: Choices) -> str:
    return call("add_unit_loop", inventory.place(pick))


@writes("annotate_buffer_access")
def annotate_buffer_access(inventory: Inventory, pick: Choices) -> str:
    block, path = inventory.block(pick)
    kind = pick.one(('"read"', '"write"', '"write"', '"both"'))
    count = 2 if path is None else len(inventory.around(path))
    names = [f"v{k}" for k in range(count)]
    ends = [pick.one((v, f"({v} - 1, {v} + 2)", f"(0, {v})")) for v in names]
    return call("annotate_buffer_access", block, "0", kind, f"lambda {', '.join(names)}: {listed(ends)}")


@writes("reindex")
def reindex(inventory: Inventory, pick: Choices) -> str:
    block, path = inventory.block(pick)
    named = [] if path is None else [*read_in(inventory, path), *written_in(inventory, path)]
    return call("reindex", block, pick.one(('("read", 0)', '("write", 0)', '("read", 1)', *named, NOBODY)))


@writes("reindex_cache_read")
def reindex_cache_read(inventory: Inventory, pick: Choices) -> str:
    block, path = inventory.block(pick)
    return call(
        "reindex_cache_read", block, pick.one(("0", "1")), quoted(pick.one(SCOPES)), mapping(inventory, pick, path)
    )


@writes("reindex_cache_write")
def reindex_cache_write(inventory: Inventory, pick: Choices) -> str:
    block, path = inventory.block(pick)
    return call("reindex_cache_write", block, "0", quoted(pick.one(SCOPES)), mapping(inventory, pick, path))


@writes("cache_index")
def cache_index(inventory: Inventory, pick: Choices) -> str:
    return call("cache_index", inventory.block(pick)[0], quoted(pick.one(SCOPES)), pick.one(("", "1", "2")))


@writes("cache_inplace")
def cache_inplace(inventory: Inventory, pick: Choices) -> str:
    block, path = inventory.block(pick)
    both = [] if path is None else [b for b in read_in(inventory, path) if b in written_in(inventory, path)]
    return call("cache_inplace", block, pick.one([*both, "0"]), quoted(pick.one(SCOPES)))


@writes("transform_block_layout")
def transform_block_layout(inventory: Inventory, pick: Choices) -> str:
    block, path = inventory.block(pick)
    word = licence(inventory, pick)
    return call("transform_block_layout", block, mapping(inventory, pick, path), reassociate=word)


@writes("reorder_block_iter_var")
def reorder_block_iter_var(inventory: Inventory, pick: Choices) -> str:
    block, path = inventory.block(pick)
    count = 2 if path is None else len(inventory.around(path))
    order = list(range(count))
    return call("reorder_block_iter_var", block, listed(pick.one((order, order[::-1], order[1:]))))


@writes("set_axis_separator")
def set_axis_separator(inventory: Inventory, pick: Choices) -> str:
    block, path = inventory.block(pick)
    named = [] if path is None else written_in(inventory, path)
    return call("set_axis_separator", block, pick.one(['("read", 0)', *named]), pick.one(("[1]", "[]", "", "[2, 1]")))


@writes("unsafe_set_dtype")
def unsafe_set_dtype(inventory: Inventory, pick: Choices) -> str:
    local = {id(b) for b in inventory.local}
    among = [(n, p) for n, p in inventory.blocks if any(id(s.buffer) in local for s in inventory.stores_in(p))]
    block, _ = inventory.block(pick, among or None)
    return call("unsafe_set_dtype", block, "0", quoted(pick.one(TYPES)))
