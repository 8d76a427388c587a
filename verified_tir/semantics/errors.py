"""How a run can end before its end.

``UndefinedBehaviour``: the program has no meaning on these arguments.  ``AssertionFailed``: the program stopped itself.
``Unsupported``: the meaning is not known here, or there is no memory for it (``TooLarge``).  ``StepLimit``: the run was
cut off.  ``ArgumentError``: it never began.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from verified_tir.ir.paths import Path

UBKind = Literal[
    "out-of-bounds",  # an index outside the view's shape, or an element outside the block
    "inaccessible",  # an access, read or write, of an element declared inaccessible
    "undef-index",
    "undef-branch",  # if, while, if_then_else, and the left operand of and / or
    "undef-bound",  # of a loop, an allocation, a view or a block's domain
    "undef-divisor",  # also: an undefined integer divided by -1, which may be the least one
    "undef-shift",  # an undefined shift amount
    "undef-assume",
    "undef-assert",
    "undef-argument",  # of a call of another function
    "index-overflow",
    "division-by-zero",
    "division-overflow",  # the least integer divided by -1; its remainder as well
    "shift",  # a shift amount outside [0, bits)
    "negative-extent",  # of an allocation
    "block-domain",  # a block iteration outside the domain that was declared
    "assume",  # an assumption that is false
    "overlap",  # a written parameter shares memory with another parameter
]


class Stopped(Exception):
    """A run that ended early, with the place in the program where it did.

    ``place`` is the path of the innermost statement (of the function that was run; a call of another function is placed
    at the call).  ``iteration`` gives the loop variables around it, outermost first.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.place: Path | None = None
        self.iteration: dict[str, int] = {}

    def at(self, place: Path) -> None:
        """Note the place, unless a statement further inside has."""
        if self.place is None:
            self.place = place

    def within(self, name: str, iteration: int) -> None:
        """Note the iteration of an enclosing loop; an inner loop of the same name stays."""
        self.iteration = {name: iteration} | self.iteration

    def __str__(self) -> str:
        where = "" if self.place is None else f" at {list(self.place)}"
        when = ", ".join(f"{name} = {value}" for name, value in self.iteration.items())
        return f"{self.message}{where}{', ' if when else ''}{when}"


class UndefinedBehaviour(Stopped):
    """The run has no meaning: every result would be a correct one.  ``indices`` are those of an access."""

    def __init__(
        self,
        kind: UBKind,
        message: str,
        place: Path | None = None,
        *,
        indices: Sequence[int] = (),
        iteration: dict[str, int] | None = None,
    ) -> None:
        super().__init__(message)
        self.kind: UBKind = kind
        self.place = place
        self.indices = tuple(indices)
        self.iteration = dict(iteration or {})

    def __str__(self) -> str:
        return f"{self.kind}: {super().__str__()}"


class AssertionFailed(Stopped):
    """A ``T.Assert`` whose condition is false; ``message`` is the program's own."""


class Unsupported(Stopped):
    """Something whose meaning the interpreter does not know, such as an opaque call."""


class TooLarge(Unsupported):
    """A block of memory takes more bytes than the interpreter provides: like a limit of steps, that shows nothing."""


class StepLimit(Stopped):
    """More stores and loop iterations were executed than ``max_steps`` allows.

    ``findings`` are the races found until then, if they were looked for.
    """

    findings: tuple[object, ...] = ()


class ArgumentError(ValueError):
    """The arguments do not fit the function's parameters (missing, wrong shape or dtype, unknown shape symbol)."""
