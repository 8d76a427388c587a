"""What opaque calls do: an affair of the world around the program.

The interpreter knows no meaning of a call that is not pure.  Whoever runs a program may give it a world that does:
``run(..., world=...)``.  So two programs can be compared under the same callees, whatever these are; none of them is
meant by the semantics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, final

from verified_tir.ir.dtype import DType
from verified_tir.semantics.memory import View
from verified_tir.semantics.values import Value


@final
@dataclass(frozen=True, slots=True)
class Pointer:
    """What a data variable is to a callee, or an element's address: a block, as it was passed or allocated, and a
    byte in it."""

    view: View
    byte: int = 0


Given: TypeAlias = Value | Pointer | str
"""What a callee is given: a value, a place in memory, a text."""


class World(Protocol):
    """The callees of one run."""

    def begin(self, views: Sequence[View]) -> None:
        """The memory that was passed to the program, in the order of its parameters: each callee reaches it."""

    def call(self, op: str, given: Sequence[Given], result: DType) -> Value:
        """What a call gives; memory in its reach may be another afterwards."""

    def end(self, view: View) -> None:
        """What was allocated is gone."""
