"""Values and frames: what variables stand for in many executions of a statement at once.

The executions that run together are *rows*.  An array of values has the shape (rows, lanes); where all rows, or all
lanes, agree, that axis may have length 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias, final

import numpy as np

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Var
from verified_tir.ir.stmt import Region as Accessed
from verified_tir.validate.memory import Region, View
from verified_tir.validate.terms import Ids, Terms


@final
@dataclass(frozen=True, slots=True)
class Value:
    """Numbers (integers and bools that are known), or terms; just one of the two is there."""

    dtype: DType
    numbers: Ids | None = None
    ids: Ids | None = None

    @property
    def array(self) -> Ids:
        found = self.ids if self.numbers is None else self.numbers
        assert found is not None
        return found

    def pick(self, rows: Ids) -> Value:
        """The value in some of the rows."""
        array = self.array
        if array.shape[0] == 1:
            return self
        return Value(self.dtype, array[rows]) if self.ids is None else Value(self.dtype, None, array[rows])


def given(dtype: DType, number: int, terms: Terms) -> Value:
    """The value of an integer parameter or a shape symbol; from 2**63 on a term, as all results of uint64 are."""
    if number >= 1 << 63:
        return Value(dtype, None, np.full((1, 1), terms.constant(dtype, number)))
    return Value(dtype, np.full((1, 1), number, dtype=np.int64))


Declared: TypeAlias = "tuple[tuple[Accessed, ...], tuple[Accessed, ...]]"
"""The regions that a block says that it reads, and writes."""


@final
@dataclass(slots=True)
class Frame:
    """``count`` rows.  ``guard`` is the path condition of each row, ``None`` where there is none that is symbolic.

    ``bases`` are the addresses at which a row's own part of an allocated block begins, by data variable; and by buffer
    the offsets of views, in elements, that are not the same in all rows.  ``regions`` pairs each open region with the
    number that each row has there.  ``views`` is shared by the frames of a run: a variable is bound once in a program.
    ``declared`` is what the innermost block with a declaration says.
    """

    count: int
    values: dict[Var, Value] = field(default_factory=dict)
    views: dict[Buffer, View] = field(default_factory=dict)
    blocks: dict[Var, View] = field(default_factory=dict)
    bases: dict[Var | Buffer, Ids] = field(default_factory=dict)
    regions: tuple[tuple[Region, Ids], ...] = ()
    guard: Ids | None = None
    declared: Declared | None = None

    def pick(self, rows: Ids) -> Frame:
        """The frame with row ``rows[k]`` as its k-th; rows may be repeated."""
        return Frame(
            int(rows.size),
            {v: value.pick(rows) for v, value in self.values.items()},
            self.views,
            self.blocks,
            {v: base[rows] for v, base in self.bases.items()},
            tuple([(region, numbers[rows]) for region, numbers in self.regions]),
            None if self.guard is None else self.guard[rows],
            self.declared,
        )

    def only(self, where: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Frame:
        return self if where.all() else self.pick(np.flatnonzero(where))
