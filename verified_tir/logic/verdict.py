"""Verdicts and obligations: the vocabulary in which every question is asked and answered.

A verdict is one of three values and never a boolean.  ``Unknown`` is not ``Proved``, and nothing may treat it so.

Each says how it was found: ``trivial`` (no solver was needed), ``cached`` (every query had been answered before),
``lemma`` or ``congruence`` (a float goal split by ``verified_tir.logic.floats``), or ``z3``; and how many ``seconds``
Z3 took for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias, final

from verified_tir.logic.formula import Term


@final
@dataclass(frozen=True, slots=True)
class Proved:
    """The claim holds."""

    seconds: float = 0.0
    how: str = "z3"


@final
@dataclass(frozen=True, slots=True)
class Model:
    """Values of the free variables under which the givens hold and the goal does not (floats as bits)."""

    values: dict[str, int]
    sorts: dict[str, str]


@final
@dataclass(frozen=True, slots=True)
class Refuted:
    """The claim is false under the givens, as ``model`` shows."""

    model: Model
    seconds: float = 0.0
    how: str = "z3"


@final
@dataclass(frozen=True, slots=True)
class Unknown:
    """The solver could not decide; ``reason`` is its own word."""

    reason: str
    seconds: float = 0.0
    how: str = "z3"


Verdict: TypeAlias = Proved | Refuted | Unknown


@final
@dataclass(frozen=True, slots=True)
class Obligation:
    """One question: does ``goal`` follow from ``given``?

    ``claim`` is one sentence in the program's own names; ``place`` the path of the statement it is about, in the
    program named by ``where`` (``"before"`` or ``"after"``).  ``names`` tells how the program calls the variables of
    the formula.
    """

    name: str
    claim: str
    given: tuple[Term, ...]
    goal: Term
    place: tuple[int, ...] = ()
    where: str = "before"
    names: dict[str, str] = field(default_factory=dict, hash=False, compare=False)
