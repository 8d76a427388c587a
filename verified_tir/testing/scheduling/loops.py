"""Calls of the primitives that change loops."""

from __future__ import annotations

from verified_tir.ir.stmt import Seq, Stmt
from verified_tir.ir.visit import sub_statements
from verified_tir.testing.scheduling.choices import Choices
from verified_tir.testing.scheduling.inventory import Inventory, Loop, call, listed, quoted
from verified_tir.testing.scheduling.step import writes

FACTORS = (2, 3, 4, 1, 5, 8)
WRONG = ("0", "-1", "None, None", "1000000007")
THREADS = ("threadIdx.x", "blockIdx.x", "threadIdx.y", "vthread", "blockIdx.y", "sideways")


def factor(pick: Choices, loop: Loop | None) -> str:
    """A factor: small, or near the extent of the loop."""
    near = () if loop is None else (loop.extent, loop.extent + 1, max(loop.extent - 1, 1))
    return str(pick.one((*FACTORS, *near)))


@writes("split")
def split(inventory: Inventory, pick: Choices) -> str:
    loop = pick.one(inventory.loops) if inventory.loops else None
    a, b = factor(pick, loop), factor(pick, loop)
    forms = [f"[None, {a}]", f"[{a}, None]", f"[None, {a}, {b}]", f"[None, {a}]", f"[{a}, {b}]", f"[{a}, None, {b}]"]
    factors = pick.one(forms)
    if pick.chance(30):
        factors = f"[{pick.one(WRONG)}]"
    return call("split", loop.text if loop and not pick.chance(40) else inventory.loop(pick), factors)


def several_loops(inventory: Inventory, pick: Choices, low: int, high: int) -> list[str]:
    """Loops of one nest, outermost first; now and then any loops."""
    if pick.chance(16):
        return [inventory.loop(pick) for _ in range(low)]
    return [loop.text for loop in inventory.chain(pick, low, high)] or [inventory.loop(pick)]


@writes("fuse")
def fuse(inventory: Inventory, pick: Choices) -> str:
    return call("fuse", *several_loops(inventory, pick, 2, 3))


@writes("reorder")
def reorder(inventory: Inventory, pick: Choices) -> str:
    found = several_loops(inventory, pick, 2, 4)
    turned = found[::-1] if not pick.chance(2) else pick.several(found, len(found), len(found))
    return call("reorder", *turned, reassociate=licence(inventory, pick))


def licence(inventory: Inventory, pick: Choices) -> str:
    """Now and then the user's word that a reduction may be rounded in another order."""
    floats = [b for b in inventory.written if b.dtype.is_float]
    return quoted(pick.one(floats).name) if floats and pick.chance(4) else ""


@writes("tile")
def tile(inventory: Inventory, pick: Choices) -> str:
    found = several_loops(inventory, pick, 2, 3)
    return call("tile", *found, factors=listed(pick.one(FACTORS) for _ in found))


@writes("partition")
def partition(inventory: Inventory, pick: Choices) -> str:
    loop = pick.one(inventory.loops) if inventory.loops else None
    extent = 4 if loop is None else loop.extent
    middles = [str(pick.number(extent + 1)), str(extent), "0"]
    middles += [f"s.symbol({quoted(n)}){more}" for n in inventory.symbols for more in ("", " // 2", " - 1")]
    if loop is not None:
        outer = [inventory.loops.index(x) for x in inventory.around(loop.path)]
        middles += [f"s.loops()[{k}]{more}" for k in outer for more in ("", " + 1")]
    middle = pick.one(middles) if not pick.chance(20) else pick.one(("-1", str(extent + 1)))
    return call("partition", loop.text if loop is not None else inventory.loop(pick), middle)


@writes("peel")
def peel(inventory: Inventory, pick: Choices) -> str:
    return call("peel", inventory.loop(pick), end="True" if pick.chance(2) else "")


@writes("fission")
def fission(inventory: Inventory, pick: Choices) -> str:
    several = [x for x in inventory.loops if _holds_several(x)]
    loop = inventory.some_loop(pick, several)
    if pick.chance(3):
        return call("fission", loop, after=inventory.place(pick))
    return call("fission", loop, "" if not pick.chance(3) else str(pick.one((1, 2, 0, 3))))


def _holds_several(loop: Loop) -> bool:
    """Whether a loop's body is a sequence, perhaps under labels, guards and loops."""
    stmt: Stmt = loop.stmt
    while len(sub_statements(stmt)) == 1:
        (stmt,) = sub_statements(stmt)
    return isinstance(stmt, Seq)


def pair_of_neighbours(inventory: Inventory, pick: Choices) -> tuple[str, str]:
    """Two statements next to each other, mostly; the first one first."""
    if inventory.neighbours and not pick.chance(12):
        return pick.one(inventory.neighbours)
    return inventory.place(pick), inventory.place(pick)


@writes("merge_loops")
def merge_loops(inventory: Inventory, pick: Choices) -> str:
    names = {x.text for x in inventory.loops}
    loops = [pair for pair in inventory.neighbours if names >= set(pair)]
    first, second = pick.one(loops) if loops and not pick.chance(10) else (inventory.loop(pick), inventory.loop(pick))
    return call("merge_loops", first, second)


@writes("merge_adjacent_loops")
def merge_adjacent_loops(inventory: Inventory, pick: Choices) -> str:
    if pick.chance(2):
        return call("merge_adjacent_loops", *pair_of_neighbours(inventory, pick))
    return call("merge_adjacent_loops")


@writes("move_before")
def move_before(inventory: Inventory, pick: Choices) -> str:
    first, second = pair_of_neighbours(inventory, pick)
    return call("move_before", second, first)


@writes("move_after")
def move_after(inventory: Inventory, pick: Choices) -> str:
    first, second = pair_of_neighbours(inventory, pick)
    return call("move_after", first, second)


@writes("remove_loop")
def remove_loop(inventory: Inventory, pick: Choices) -> str:
    return call("remove_loop", inventory.loop(pick))


@writes("parallel")
def parallel(inventory: Inventory, pick: Choices) -> str:
    return call("parallel", inventory.loop(pick))


@writes("vectorize")
def vectorize(inventory: Inventory, pick: Choices) -> str:
    innermost = [nest[-1] for nest in inventory.nests]
    return call("vectorize", inventory.some_loop(pick, innermost))


@writes("unroll")
def unroll(inventory: Inventory, pick: Choices) -> str:
    return call("unroll", inventory.loop(pick))


@writes("bind")
def bind(inventory: Inventory, pick: Choices) -> str:
    return call("bind", inventory.loop(pick), quoted(pick.one(THREADS)))
