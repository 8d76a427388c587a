"""What the validator can say."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, final

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]


@final
@dataclass(frozen=True, slots=True)
class Equal:
    """At these sizes, every result of *before* has the same bits after.

    ``vacuous``: *before* has undefined behaviour on every input (or on every one that was tried), so anything would do,
    or both programs end by an assertion; ``undefined`` says which (or which kinds these inputs may meet).

    ``how`` counts elements by what settled them: ``same term``, ``undef before``, ``integers``, ``z3``.
    """

    vacuous: bool = False
    how: Mapping[str, int] = field(default_factory=dict)
    undefined: str = ""

    def __str__(self) -> str:
        return f"equal ({_vacuous(self.undefined)})" if self.vacuous else "equal"


@final
@dataclass(frozen=True, slots=True)
class EqualOverReals:
    """Equal but for the order and association of float sums, products, minima and maxima.

    What a condition or conversion makes of such a sum may be any other number: the real ones are the same.

    Of a maximum -inf may come or go, of a minimum inf.  NaN is no number: of two such results one may be NaN alone.

    ``which`` names, one sentence for each parameter, the sums that differ; ``vacuous`` and ``undefined`` as in
    :class:`Equal`.
    """

    which: tuple[str, ...]
    vacuous: bool = False
    undefined: str = ""

    def __str__(self) -> str:
        text = "equal over the reals: " + "; ".join(self.which)
        return f"{text} ({_vacuous(self.undefined)})" if self.vacuous else text


@final
@dataclass(frozen=True, slots=True)
class EqualInPart:
    """The programs are too large to be executed as a whole; ``compared`` of the ``total`` elements written were equal.

    These were chosen: corners, both sides of tile boundaries, random ones.  All that they depend on was evaluated; of
    other elements, and of undefined behaviour elsewhere, nothing is said.  ``which`` names reassociated sums as in
    :class:`EqualOverReals`; empty if the bits are equal.  ``how`` as in :class:`Equal`.
    """

    compared: int
    total: int
    which: tuple[str, ...] = ()
    how: Mapping[str, int] = field(default_factory=dict)
    vacuous: bool = False

    def __str__(self) -> str:
        kind = "equal over the reals" if self.which else "equal"
        text = f"{kind} on {self.compared} of {self.total} elements, evaluated on demand"
        free = self.how.get("undef before", 0)
        undefined = [f"{free} scalars are undefined before"] if free else []
        return "; ".join([text, *undefined, *self.which, "undefined behaviour elsewhere is not seen"])


@final
@dataclass(frozen=True, slots=True)
class Different:
    """A witness, replayed by the interpreter on both programs.

    ``arguments`` are those of *before* by name, ``arguments_after`` those of *after*.  ``element`` names what differs
    (``"C[0, 3]"``), ``before`` and ``after`` its values; ``after`` is ``None`` for undef.  Where *after* has undefined
    behaviour and *before* has none, ``element`` is empty and ``after`` says which.

    Programs too large to be run are replayed in part: only what the element depends on, and undefined behaviour
    elsewhere, in *before* too, is not seen.  Then ``inputs`` are the elements of *before*'s buffers that this took, by
    name and index, and the arguments are the scalar ones; all other elements are free.
    """

    arguments: Mapping[str, Array | int | float | bool]
    arguments_after: Mapping[str, Array | int | float | bool]
    element: str
    before: object
    after: object | None
    inputs: Mapping[str, Mapping[tuple[int, ...], object]] = field(default_factory=dict)

    def __str__(self) -> str:
        part = " (replayed in part: what the element depends on)" if self.inputs else ""
        if not self.element:
            return f"different: after has undefined behaviour ({self.after}){part}"
        after = "undef" if self.after is None else repr(_plain(self.after))
        return f"different: {self.element} was {_plain(self.before)!r} and is {after}{part}"


@final
@dataclass(frozen=True, slots=True)
class Unknown:
    """Neither could be shown.

    ``other_terms``: what is left is whether terms are equal, so that a longer search may find an input that shows a
    difference.
    """

    reason: str
    other_terms: bool = False

    def __str__(self) -> str:
        return f"unknown: {self.reason}"


Verdict: TypeAlias = Equal | EqualOverReals | EqualInPart | Different | Unknown


@final
@dataclass(frozen=True, slots=True)
class Report:
    """A verdict, and what else was seen.

    ``findings``: races, of either program (``"after: race at B between iterations of i"``).
    ``operations`` counts the operations executed symbolically in both programs, ``seconds`` what that took; ``sizes``
    are the values of the symbols.
    """

    verdict: Verdict
    findings: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    operations: int = 0
    seconds: float = 0.0

    @property
    def new_races(self) -> tuple[str, ...]:
        """Races of *after* that *before* does not have: see :func:`new_races`."""
        return new_races(self.findings)


@final
class Finding(str):
    """A sentence about a block of memory of one program.

    ``memory`` says which block of the other program it is: the position of a parameter; or the name of an allocation,
    with its number among those that have this name.
    """

    __slots__ = ("memory",)
    memory: int | str

    def __new__(cls, text: str, memory: int | str) -> Finding:
        found = super().__new__(cls, text)
        found.memory = memory
        return found

    def __reduce__(self) -> tuple[type[Finding], tuple[str, int | str]]:
        return Finding, (str(self), self.memory)


def said_of(which: str, found: str) -> str:
    """A finding about one of the programs."""
    text = f"{which}: {found}"
    return Finding(text, found.memory) if isinstance(found, Finding) else text


_RACE: Final = re.compile(
    r"(?P<side>before|after): (?P<kind>race between threads|race|lane conflict) at (?P<block>[^\s:]+)"
)


def new_races(findings: Sequence[str]) -> tuple[str, ...]:
    """The races of *after* in a block where *before* has none of the same kind.

    The serial meaning may be the same; run as its loops permit, *after* may do what *before* cannot.
    """
    return _new(findings, _RACE)


_UNPLACED: Final = re.compile(
    r"(?P<side>before|after): (?P<kind>memory) of each thread(?: block)? at (?P<block>\S+) is used outside"
)


def unplaced(findings: Sequence[str]) -> tuple[str, ...]:
    """The memory of threads that *after* uses outside of all loops over threads, and *before* does not.

    A thread has what it stored there itself; what such a program means, a later step has to say, which brings all that
    uses the memory into the loops (``set_scope`` comes before ``compute_at`` in many schedules).
    """
    return _new(findings, _UNPLACED)


def _new(findings: Sequence[str], pattern: re.Pattern[str]) -> tuple[str, ...]:
    """The findings of a kind about *after* that *before* does not have in the same block of memory."""
    about = [
        (found["side"], (found["kind"], f.memory if isinstance(f, Finding) else found["block"]), f)
        for f in findings if (found := pattern.match(f)) is not None
    ]  # fmt: skip
    known = {key for side, key, _ in about if side == "before"}
    return tuple([f for side, key, f in about if side == "after" and key not in known])


def _vacuous(undefined: str) -> str:
    if undefined.startswith("the assertion"):
        return f"vacuous: both programs end by {undefined}"
    return "vacuous: before has undefined behaviour" + (f": {undefined}" if undefined else "")


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value
