"""Verdicts and obligations: the vocabulary in which every question is asked and answered.

A verdict is one of three values and never a boolean.  ``Unknown`` is not ``Proved``, and nothing may treat it so.

Each says how it was found: ``trivial`` (no solver was needed), ``cached`` (every query had been answered before),
``lemma`` or ``congruence`` (a float goal split by ``verified_tir.logic.floats``), or ``z3``; and how many ``seconds``
Z3 took for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias, final

from verified_tir.ir.node import Node
from verified_tir.ir.outside import shown
from verified_tir.logic.formula import Term


@final
@dataclass(frozen=True, slots=True)
class Proved:
    """The claim holds."""

    seconds: float = 0.0
    how: str = "z3"


Values: TypeAlias = dict[str, int]
Sorts: TypeAlias = dict[str, str]


@final
class Model:
    """Values of the free variables under which the givens hold and the goal does not (floats as bits).

    :ivar values: by name; a variable without one may have any.
    :ivar sorts: of the variables that have a value.

    Most refutations are of attempts whose values nobody looks at, and to find these takes longer than to refute: they
    are found when somebody asks (:meth:`later`).
    """

    __slots__ = ("_find", "_found")

    def __init__(self, values: Values, sorts: Sorts) -> None:
        self._found: tuple[Values, Sorts] | None = (values, sorts)
        self._find: Callable[[], tuple[Values, Sorts]] | None = None

    @classmethod
    def later(cls, find: Callable[[], tuple[Values, Sorts]]) -> Model:
        """A model whose values and sorts ``find`` finds, once, when they are needed."""
        model = cls({}, {})
        model._found, model._find = None, find
        return model

    @property
    def values(self) -> Values:
        return self._all[0]

    @property
    def sorts(self) -> Sorts:
        return self._all[1]

    @property
    def _all(self) -> tuple[Values, Sorts]:
        if self._found is None:
            assert self._find is not None
            self._found, self._find = self._find(), None
        return self._found

    def __reduce__(self) -> tuple[type[Model], tuple[Values, Sorts]]:
        return Model, self._all


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

Claim: TypeAlias = str | tuple[str | Node, ...]
"""A sentence: words, and nodes of the program that are to be shown in their places."""


def in_words(claim: Claim) -> str:
    """A claim as a sentence for a person; nothing depends on it."""
    if isinstance(claim, str):
        return claim
    return "".join(part if isinstance(part, str) else shown(part) for part in claim)


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


@final
@dataclass(frozen=True, slots=True)
class Discharged:
    """An obligation that was proved, with the lemmas (obligations themselves) that were needed."""

    obligation: Obligation
    verdict: Proved
    lemmas: tuple[Discharged, ...] = ()
