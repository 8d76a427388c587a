"""Calls of the primitives about copies, computing elsewhere, inlining and reductions."""

from __future__ import annotations

from verified_tir.ir.expr import Load
from verified_tir.ir.paths import Path
from verified_tir.ir.visit import walk
from verified_tir.testing.scheduling.choices import Choices
from verified_tir.testing.scheduling.fitting import initialised, products, reduced, updates
from verified_tir.testing.scheduling.inventory import NOBODY, Inventory, Loop, call, listed, quoted, statement_at
from verified_tir.testing.scheduling.loops import licence
from verified_tir.testing.scheduling.step import writes

SCOPES = ("local", "shared", "global", "local")


def loop_around(inventory: Inventory, pick: Choices, path: Path | None) -> str:
    """A loop around a place, now and then another."""
    return inventory.some_loop(pick, [] if path is None else inventory.around(path))


def loop_elsewhere(inventory: Inventory, pick: Choices, path: Path | None) -> str:
    """A loop that is not around a place, nor inside of it: one where it might be computed."""
    around = [] if path is None else inventory.around(path)
    outermost = around[0].path if around else path
    found = [x for x in inventory.loops if outermost is None or x.path[: len(outermost)] != outermost]
    return inventory.some_loop(pick, found)


def read_in(inventory: Inventory, path: Path) -> list[str]:
    return [quoted(b.name) for b in dict.fromkeys(n.buffer for n in walk(statement_at(inventory, path))
                                                  if isinstance(n, Load))]  # fmt: skip


def written_in(inventory: Inventory, path: Path) -> list[str]:
    return [quoted(b.name) for b in dict.fromkeys(s.buffer for s in inventory.stores_in(path))]


@writes("cache_read")
def cache_read(inventory: Inventory, pick: Choices) -> str:
    scope = quoted(pick.one(SCOPES))
    block, path = inventory.block(pick)
    if path is None or pick.chance(3):
        loop = inventory.loop(pick) if pick.chance(4) else ""
        return call("cache_read", inventory.buffer(pick)[0], scope, loop)
    which = pick.one([*read_in(inventory, path), "0", "1", NOBODY])
    loop = loop_around(inventory, pick, path) if pick.chance(2) else ""
    consumers = listed([inventory.block(pick)[0]]) if pick.chance(8) else ""
    return call("cache_read", block, which, scope, loop, consumer_blocks=consumers)


@writes("cache_write")
def cache_write(inventory: Inventory, pick: Choices) -> str:
    scope = quoted(pick.one(SCOPES))
    block, path = inventory.block(pick)
    if path is None or pick.chance(3):
        loop = inventory.loop(pick) if pick.chance(4) else ""
        return call("cache_write", inventory.buffer(pick, inventory.written)[0], scope, loop)
    which = pick.one([*written_in(inventory, path), "0", NOBODY])
    return call("cache_write", block, which, scope, loop_around(inventory, pick, path) if pick.chance(2) else "")


@writes("set_scope")
def set_scope(inventory: Inventory, pick: Choices) -> str:
    scope = quoted(pick.one(("shared", "local", "global", "warp")))
    if inventory.blocks and pick.chance(3):
        return call("set_scope", inventory.block(pick)[0], "0", scope)
    return call("set_scope", inventory.buffer(pick, inventory.local or None)[0], scope)


def _producers(inventory: Inventory) -> list[tuple[str, Path]]:
    """Blocks that store to a local buffer; all blocks, if none does."""
    local = set(inventory.local)
    found = [(n, p) for n, p in inventory.blocks if any(s.buffer in local for s in inventory.stores_in(p))]
    return found or inventory.blocks


def _consumers(inventory: Inventory) -> list[tuple[str, Path]]:
    """Blocks that read a local buffer and store to another one; all blocks, if none does."""
    local = {b.name for b in inventory.local}
    found = [(n, p) for n, p in inventory.blocks
             if {quoted(b) for b in local} & set(read_in(inventory, p)) - set(written_in(inventory, p))]  # fmt: skip
    return found or inventory.blocks


@writes("compute_at")
def compute_at(inventory: Inventory, pick: Choices) -> str:
    block, path = inventory.block(pick, _producers(inventory))
    if path is None or pick.chance(12):
        return call("compute_at", inventory.loop(pick), inventory.loop(pick))
    return call("compute_at", block, loop_elsewhere(inventory, pick, path))


@writes("reverse_compute_at")
def reverse_compute_at(inventory: Inventory, pick: Choices) -> str:
    block, path = inventory.block(pick, _consumers(inventory))
    if path is None or pick.chance(12):
        return call("reverse_compute_at", inventory.loop(pick), inventory.loop(pick))
    return call("reverse_compute_at", block, loop_elsewhere(inventory, pick, path))


@writes("compute_inline")
def compute_inline(inventory: Inventory, pick: Choices) -> str:
    return call("compute_inline", inventory.block(pick, _producers(inventory))[0])


@writes("reverse_compute_inline")
def reverse_compute_inline(inventory: Inventory, pick: Choices) -> str:
    return call("reverse_compute_inline", inventory.block(pick, _consumers(inventory))[0])


@writes("bind_expr")
def bind_expr(inventory: Inventory, pick: Choices) -> str:
    block, path = inventory.block(pick)
    found = [] if path is None else inventory.expressions(path)
    expression = pick.one(found) if found and not pick.chance(30) else "no[thing]"
    scope = quoted(pick.one(SCOPES)) if pick.chance(2) else ""
    return call("bind_expr", block, quoted(expression), quoted(inventory.fresh("x")), scope)


@writes("inline_let")
def inline_let(inventory: Inventory, pick: Choices) -> str:
    return call("inline_let", quoted(pick.one(inventory.lets)) if inventory.lets and not pick.chance(30) else NOBODY)


@writes("split_write")
def split_write(inventory: Inventory, pick: Choices) -> str:
    return call("split_write", inventory.block(pick)[0])


@writes("merge_writes")
def merge_writes(inventory: Inventory, pick: Choices) -> str:
    blocks = {quoted(n) for n, _ in inventory.blocks}
    pairs = [pair for pair in inventory.neighbours if blocks >= set(pair)]
    first, second = (
        pick.one(pairs) if pairs and not pick.chance(6) else (inventory.block(pick)[0], inventory.block(pick)[0])
    )
    return call("merge_writes", first, second)


# -- reductions --------------------------------------------------------------------------------------------------------


def _reduced(inventory: Inventory) -> list[Loop]:
    """Loops that do not occur among the indices of a store inside of them."""
    found = []
    for loop in inventory.loops:
        stores = inventory.stores_in(loop.path)
        if any(loop.stmt.var not in {n for i in s.indices for n in walk(i)} for s in stores):
            found.append(loop)
    return found


@writes("rfactor")
def rfactor(inventory: Inventory, pick: Choices) -> str:
    axis = pick.one(("", "", "-1", "1", "7"))
    loops = reduced(inventory) or _reduced(inventory)
    floats = [s.buffer for s in updates(inventory) if s.buffer.dtype.is_float]
    word = quoted(pick.one(floats).name) if floats and pick.chance(2) else licence(inventory, pick)
    return call("rfactor", inventory.some_loop(pick, loops), axis, reassociate=word)


@writes("decompose_reduction")
def decompose_reduction(inventory: Inventory, pick: Choices) -> str:
    block, path = inventory.block(pick, initialised(inventory) or None)
    return call("decompose_reduction", block, loop_around(inventory, pick, path))


@writes("pad_einsum")
def pad_einsum(inventory: Inventory, pick: Choices) -> str:
    block, path = inventory.block(pick, products(inventory) or None)
    count = len(inventory.around(path)) if path is not None else 3
    count = count if not pick.chance(12) else count + 1
    return call("pad_einsum", block, listed(0 if pick.chance(40) else pick.one((4, 2, 1, 3, 1)) for _ in range(count)))
