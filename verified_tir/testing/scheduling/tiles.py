"""Calls of the primitives on parts of nests: padding, partitions, nests side by side, tiles that are copied."""

from __future__ import annotations

from verified_tir.ir.expr import IfThenElse, Select
from verified_tir.testing.scheduling.choices import Choices
from verified_tir.testing.scheduling.fitting import initialised
from verified_tir.testing.scheduling.inventory import Inventory, call, listed, quoted
from verified_tir.testing.scheduling.loops import factor, pair_of_neighbours
from verified_tir.testing.scheduling.staging import loop_around
from verified_tir.testing.scheduling.step import writes

SCOPES = ("local", "shared", "global")


@writes("decompose_padding")
def decompose_padding(inventory: Inventory, pick: Choices) -> str:
    padded = [(n, p) for n, p in inventory.blocks
              if any(isinstance(s.value, (IfThenElse, Select)) for s in inventory.stores_in(p))]  # fmt: skip
    block, path = inventory.block(pick, padded or None)
    return call("decompose_padding", block, loop_around(inventory, pick, path))


@writes("loop_partition")
def loop_partition(inventory: Inventory, pick: Choices) -> str:
    loop = pick.one(inventory.loops) if inventory.loops else None
    a, b = factor(pick, loop), factor(pick, loop)
    factors = pick.one((f"[{a}]", f"[None, {a}]", f"[1, None, {b}]", f"[{a}, {b}]", f"[{a}, None]"))
    return call("loop_partition", inventory.loop(pick) if loop is None or pick.chance(40) else loop.text, factors)


@writes("merge")
def merge(inventory: Inventory, pick: Choices) -> str:
    pair = pair_of_neighbours(inventory, pick)
    below = [_inner(inventory, name) for name in pair] if pick.chance(2) else list(pair)
    return call("merge", *below)


def _inner(inventory: Inventory, name: str) -> str:
    """The loop inside a loop, if there is one."""
    nest = next((nest for nest in inventory.nests if len(nest) > 1 and nest[0].text == name), None)
    return name if nest is None else nest[1].text


@writes("read_at")
def read_at(inventory: Inventory, pick: Choices) -> str:
    return _copied_at("read_at", inventory, pick)


@writes("write_at")
def write_at(inventory: Inventory, pick: Choices) -> str:
    return _copied_at("write_at", inventory, pick)


def _copied_at(primitive: str, inventory: Inventory, pick: Choices) -> str:
    block, path = inventory.block(pick)
    number = str(pick.one((0, 1, 0, 2))) if not pick.chance(20) else listed([0])
    return call(primitive, loop_around(inventory, pick, path), block, number, quoted(pick.one(SCOPES)))


@writes("fuse_reduction_epilogue")
def fuse_reduction_epilogue(inventory: Inventory, pick: Choices) -> str:
    reductions = initialised(inventory) or inventory.blocks
    block, _ = inventory.block(pick, reductions)
    others = [b for b in inventory.blocks if quoted(b[0]) != block]
    return call("fuse_reduction_epilogue", block, inventory.block(pick, others or None)[0])
