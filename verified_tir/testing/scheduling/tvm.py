"""Calls of TVM's primitives that are made of others."""

from __future__ import annotations

from verified_tir.testing.scheduling.choices import Choices
from verified_tir.testing.scheduling.inventory import Inventory, call, listed
from verified_tir.testing.scheduling.layouts import INDICES
from verified_tir.testing.scheduling.step import writes


@writes("reindex")
def reindex(inventory: Inventory, pick: Choices) -> str:
    which = f'("{pick.one(("read", "write", "read"))}", {pick.one((0, 0, 1, 2))})'
    return call("reindex", inventory.block(pick)[0], which)


@writes("transform_block_layout")
def transform_block_layout(inventory: Inventory, pick: Choices) -> str:
    block, path = inventory.block(pick)
    names = INDICES[: 1 if path is None else max(1, len(inventory.around(path)))]
    outputs = list(names)
    at = pick.number(len(names))
    size = pick.one((2, 4, 3))
    match pick.number(4):
        case 0:
            outputs = outputs[::-1]
        case 1:
            outputs[at : at + 1] = [f"{names[at]} // {size}", f"{names[at]} % {size}"]
        case 2 if len(names) > 1:
            outputs[:2] = [f"{names[0]} * {pick.one((16, 8, 4))} + {names[1]}"]
        case _:
            outputs[at] = f"{names[at]} {pick.one(('^ 1', '+ 1', '// 2', '* 2'))}"
    return call("transform_block_layout", block, f"lambda {', '.join(names)}: [{', '.join(outputs)}]")


@writes("loop_partition")
def loop_partition(inventory: Inventory, pick: Choices) -> str:
    lengths = [str(pick.one((1, 2, 3, 4, 8))) for _ in range(1 + pick.number(3))]
    if pick.chance(3):
        lengths[pick.number(len(lengths))] = "None"
    return call("loop_partition", inventory.loop(pick), listed(lengths))


@writes("merge")
def merge(inventory: Inventory, pick: Choices) -> str:
    if inventory.neighbours and not pick.chance(6):
        return call("merge", *pick.one(inventory.neighbours))
    return call("merge", inventory.loop(pick), inventory.loop(pick))


@writes("add_unit_loop")
def add_unit_loop(inventory: Inventory, pick: Choices) -> str:
    return call("add_unit_loop", inventory.place(pick))


@writes("storage_align")
def storage_align(inventory: Inventory, pick: Choices) -> str:
    numbers = (pick.one((0, 0, 1)), pick.one((0, 1, -1, 7)), pick.one((16, 4, 0)), pick.one((8, 0)))
    return call("storage_align", inventory.block(pick)[0], *map(str, numbers))
