"""Less traffic between memory and registers: the order of the loops over tiles, and copies made where they are read.

    for k, y, x:              each tile of weights (k) is used with all places (y, x): these are gone through once for
        sums[k, y, x] += …    each k, which costs little while they stay in a cache

Where the operand of all places is too large for that, and the weights are not, the places come first.  (Goto & van de
Geijn, Anatomy of High-Performance Matrix Multiplication, 2008, choose between loops in this way.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import takewhile

from verified_tir.graph.nests import Nest, nests, uniform
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, IntImm, Load, Var
from verified_tir.ir.visit import free_vars
from verified_tir.schedule.errors import ScheduleError
from verified_tir.schedule.schedule import Schedule

CACHE = 2**20
"""Bytes that stay in the second cache of a processor (1 to 2 MB) while others pass through it."""

COPY = 2**18
"""Bytes of a copy that is worth to be made in parts."""


def once_through(nest: Nest, outer: list[Var], lanes: Var) -> list[Var]:
    """The loops over tiles of a reduction, in the order in which its larger operand is read once.

    :param outer: these loops, outermost first, in an order that is kept as far as possible.
    :param lanes: the loop over the elements of a vector.
    """
    weights = [x for x in nest.loads if not uniform(x.indices, lanes)]
    spread = [x for x in nest.loads if uniform(x.indices, lanes)]
    if not weights or not spread or not _nbytes(weights) <= CACHE < _nbytes(spread):
        return outer
    return sorted(outer, key=lambda v: not all(uniform(x.indices, v) for x in weights))


def copies_by_row(s: Schedule, nest: Nest, outer: Sequence[Var], inner: Sequence[Var]) -> None:
    """Make large local copies that only a reduction reads, such as padded ones, in the loop over rows of tiles.

    :param nest: the reduction, split and not yet reordered.
    :param outer: its loops over tiles, outermost first.
    :param inner: its loops within a tile.
    """
    for x in nest.loads:
        makers = [n for n in nests(s.func) if n.store.buffer is x.buffer]
        if len(makers) != 1 or makers[0].update is not None or _nbytes([x]) < COPY:
            continue
        read = takewhile(partial(_depends, x), outer)
        rows = [v for v in read if not any(_both(i, v, w) for i in x.indices for w in inner)]
        if rows:
            try:
                s.compute_at(makers[0].block, rows[-1])
                s.simplify()
            except ScheduleError:  # others read it, too
                continue


def _depends(load: Load, v: Var) -> bool:
    return not uniform(load.indices, v)


def _both(index: Expr, v: Var, w: Var) -> bool:
    """Whether an index is made of two variables, as that of a tile's element is."""
    return {v, w} <= {*free_vars(index)}


def _nbytes(loads: Sequence[Load]) -> int:
    return sum(_size(b) for b in {x.buffer for x in loads})


def _size(b: Buffer) -> int:
    if not all(isinstance(n, IntImm) for n in b.shape):
        return 0
    return math.prod(n.value for n in b.shape if isinstance(n, IntImm)) * b.dtype.nbytes
