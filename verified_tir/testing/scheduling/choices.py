"""Decisions as a string of bytes: what a step of a schedule is written from.

A step's arguments depend on the program as it stands when the step is taken, so they cannot be drawn beforehand.  What
is drawn is a few bytes; whoever writes the step takes one byte for each decision.  Shorter and smaller strings of bytes
decide for what comes first, and a string that has ended decides so for ever: so shrinking the bytes leads to the first
loop, the first buffer, the plainest argument, and nothing needs to be run while drawing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, final

T = TypeVar("T")


@final
class Choices:
    """Decisions in a row, each from the next byte."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._next = 0

    def number(self, below: int) -> int:
        """A number in ``[0, below)``; 0 when the bytes have come to an end."""
        if self._next >= len(self._data) or below <= 1:
            return 0
        self._next += 1
        return self._data[self._next - 1] % below

    def one(self, options: Sequence[T]) -> T:
        """One of several, the first being the plainest.  An option that stands there twice is twice as likely."""
        return options[self.number(len(options))]

    def chance(self, one_in: int) -> bool:
        """True once in so many times; never, when the bytes have come to an end."""
        return self.number(one_in) == one_in - 1 if one_in > 1 else True

    def several(self, options: Sequence[T], low: int, high: int) -> list[T]:
        """Between ``low`` and ``high`` of the options (fewer if there are not so many), in an order of their own."""
        left = list(options)
        found: list[T] = []
        for _ in range(min(low + self.number(high - low + 1), len(left))):
            found.append(left.pop(self.number(len(left))))
        return found
