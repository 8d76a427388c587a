"""Verdicts and obligations: the vocabulary in which every question is asked and answered.

A verdict is one of three values and never a boolean.  ``Unknown`` is not ``Proved``, and nothing may treat it so.

Each says how it was found: ``trivial`` (no solver was needed), ``cached`` (every query had been answered before),
``congruence`` (a goal about floats that follows from equal operands alone), ``lemma`` (one that a lemma about floats
alone gives), or ``z3``; and how many ``seconds`` Z3 took for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, final

from verified_tir import ir
from verified_tir.logic.formula import Term

if TYPE_CHECKING:
    from verified_tir.logic.model import Model


@final
@dataclass(frozen=True, slots=True)
class Proved:
    """The claim holds."""

    seconds: float = 0.0
    how: str = "z3"


@final
@dataclass(frozen=True, slots=True)
class Refuted:
    """The claim is false under the givens, as ``model`` shows: an example for people, on which nothing rests."""

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

Claim: TypeAlias = str | tuple[str | ir.Node, ...]
"""A sentence: words, and nodes of the program that are to be shown in their places."""


@final
@dataclass(frozen=True, slots=True)
class Obligation:
    """One question: does ``goal`` follow from ``given``?

    ``claim`` is one sentence in the program's own names; ``place`` the path of the statement it is about, in the
    program named by ``where`` (``"before"`` or ``"after"``).
    """

    name: str
    claim: str
    given: tuple[Term, ...]
    goal: Term
    place: tuple[int, ...] = ()
    where: str = "before"


@final
@dataclass(frozen=True, slots=True)
class Discharged:
    """An obligation that was proved, with the lemmas (obligations themselves) that were needed."""

    obligation: Obligation
    verdict: Proved
    lemmas: tuple[Discharged, ...] = ()
