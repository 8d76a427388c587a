"""The order in which blocks declare their iteration variables, as an order of the loops around them.

Blocks are expanded when a program is taken, and the loops around a block are its iteration variables from then on.  TVM
counts these as they are declared, and so do maps of them and copies indexed by them here.
"""

from __future__ import annotations

from collections import Counter

from verified_tir.ir.expr import Var
from verified_tir.ir.find import places_of
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path, at
from verified_tir.ir.stmt import Block, For
from verified_tir.ir.visit import free_vars, nodes_of


def declared_axes(func: PrimFunc) -> dict[str, tuple[Var, ...]]:
    """By block, the loops up to the next block around it, in the order in which the block's axes mention them; those
    that none mentions come last.

    Blocks whose axes stand in the order of the loops, or that share a name, are left out.
    """
    names = Counter(b.name for b in nodes_of(func.body, Block))
    found: dict[str, tuple[Var, ...]] = {}
    for path, block in places_of(func.body, Block, lambda b: not b.is_label and names[b.name] == 1):
        loops = _loops_around(func, path)
        mentioned = [v for iv in block.iter_vars for v in loops if v in free_vars(iv.value)]
        order = list(dict.fromkeys(mentioned))
        if order != [v for v in loops if v in order]:
            found[block.name] = (*order, *(v for v in loops if v not in order))
    return found


def _loops_around(func: PrimFunc, path: Path) -> list[Var]:
    around = [at(func.body, path[:k]) for k in range(len(path))]
    first = next((k + 1 for k in reversed(range(len(around))) if isinstance(around[k], Block)), 0)
    return [s.var for s in around[first:] if isinstance(s, For)]
