"""Drawing for generators that carry state: cheap choices, and units that the shrinker can see.

A program is drawn from the outside in, and what may come next depends on what is in scope, so the generators here are
ordinary functions around one ``draw``.  Two things matter for them:

* **Speed.**  Every choice is an integer from a strategy that was made once.
* **Shrinking.**  Hypothesis makes a failing case smaller by choosing earlier options, and by deleting, or replacing by
  a part of itself, whatever one strategy drew.  So the simplest option comes first everywhere, and what could go away
  as a whole is drawn as a unit (:meth:`Picker.statement`, :meth:`Picker.expression`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar, final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

T = TypeVar("T")


@cache
def _integers(low: int, high: int) -> SearchStrategy[int]:
    return st.integers(low, high)


_BOOLEANS = st.booleans()


@st.composite
def _statement_unit(draw: DrawFn, picker: Picker) -> Any:
    return picker.make_unit(draw)


@st.composite
def _expression_unit(draw: DrawFn, picker: Picker) -> Any:
    return picker.make_unit(draw)


@st.composite
def _body_unit(draw: DrawFn, picker: Picker) -> Any:
    return picker.make_unit(draw)


@final
class Picker:
    """What a generator draws with."""

    def __init__(self, draw: DrawFn) -> None:
        self.draw = draw
        self._waiting: list[Callable[[], Any]] = []
        self._statement = _statement_unit(self)
        self._body = _body_unit(self)
        self._expression = _expression_unit(self)

    def make_unit(self, draw: DrawFn) -> Any:
        """For the strategies of units only: draw what waits."""
        self.draw = draw
        return self._waiting.pop()()

    def integer(self, low: int, high: int) -> int:
        """An integer in [low, high]; the simplest is the one nearest to zero."""
        return low if low == high else self.draw(_integers(low, high))

    def one(self, *options: T) -> T:
        """One of the options, simplest first; an option may be repeated to make it more frequent."""
        return options[self.integer(0, len(options) - 1)]

    def among(self, options: Sequence[T]) -> T:
        """One of the elements of a sequence, simplest first."""
        return options[self.integer(0, len(options) - 1)]

    def flip(self) -> bool:
        """True in half of the cases; false is simpler."""
        return self.draw(_BOOLEANS)

    def rarely(self, one_in: int) -> bool:
        """True in one of ``one_in`` cases; false is simpler."""
        return self.integer(0, one_in - 1) == one_in - 1

    def statement(self, make: Callable[[], T]) -> T:
        """What ``make`` draws, as a unit that the shrinker may delete or replace by a unit of this kind inside it."""
        self._waiting.append(make)
        made: T = self.draw(self._statement)
        return made

    def body(self, make: Callable[[], T]) -> T:
        """The same for a list of statements: drawn as its first one and the rest, which is a unit again.

        So any one of them can be left out: the list is replaced by its rest.
        """
        self._waiting.append(make)
        made: T = self.draw(self._body)
        return made

    def expression(self, make: Callable[[], T]) -> T:
        """The same for expressions."""
        self._waiting.append(make)
        made: T = self.draw(self._expression)
        return made
