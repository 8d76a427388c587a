"""Runs that are kept: what a step leaves is what the next one begins with, and is executed once.

A run belongs to the table of terms in which its memory is written, so the next comparison goes on in that table.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, final

from verified_tir.ir.func import PrimFunc
from verified_tir.validate.interface import Parameter, Side
from verified_tir.validate.operators import Builder
from verified_tir.validate.session import Exit
from verified_tir.validate.terms import Terms

_Key: TypeAlias = tuple[PrimFunc, tuple[tuple[str, int], ...]]
MOST_TERMS: Final = 4_000_000
"""Of all runs that are kept together."""


@final
@dataclass(frozen=True, slots=True)
class Run:
    """A program at known sizes, its memory at exit, and how many operations that took."""

    side: Side
    build: Builder
    exit: Exit
    operations: int

    def fits(self, side: Side, budget: int) -> bool:
        """Whether the run is one of this side: the same program on the same memory at entry, within a budget."""
        pairs = list(zip(self.side.params, side.params, strict=True))
        return (
            self.operations <= budget
            and self.side.func is side.func
            and self.side.values == side.values
            and all(_same(one, other) for one, other in pairs)
        )


def _same(one: Parameter, other: Parameter) -> bool:
    """Whether two parameters are the same memory at entry, element by element."""
    plain = all(p.index_map is None and p.padding is None for p in (one, other))
    return plain and one.position == other.position and one.extents == other.extents and one.buffer is other.buffer


@final
class Runs:
    """The last runs, by program and sizes."""

    def __init__(self) -> None:
        self._kept: OrderedDict[_Key, Run] = OrderedDict()

    def find(self, func: PrimFunc, sizes: Mapping[str, int]) -> Run | None:
        """A run of a function, which may turn out to be one of another memory (:meth:`Run.fits`); it is forgotten."""
        return self._kept.pop(_key(func, sizes), None)

    def keep(self, func: PrimFunc, sizes: Mapping[str, int], run: Run) -> None:
        self._kept[_key(func, sizes)] = run
        self._kept.move_to_end(_key(func, sizes))
        while len(self._kept) > 1 and sum(r.build.terms.count for r in self._kept.values()) > MOST_TERMS:
            self._kept.popitem(last=False)


def builder(run: Run | None) -> Builder:
    """Where a comparison goes on; a table that has grown too large is left."""
    if run is None or run.build.terms.count > MOST_TERMS // 4:
        return Builder(Terms())
    return run.build


def _key(func: PrimFunc, sizes: Mapping[str, int]) -> _Key:
    return func, tuple(sorted(sizes.items()))
