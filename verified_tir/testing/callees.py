"""Callees for opaque calls, so that the interpreter can hold programs with such calls against each other.

A callee reads some elements of the memory in its reach, writes some, and gives a result.  Which, and what, follows from
everything that it can know: who is called with what, what it has read, and all that earlier callees knew.  So two
programs end alike only if each call sees in both what it saw.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import final

from verified_tir.ir.dtype import DType
from verified_tir.semantics.errors import UndefinedBehaviour
from verified_tir.semantics.interpreter.world import Given, Pointer
from verified_tir.semantics.memory import View
from verified_tir.semantics.values import UNDEF, Scalar, Value, vector

_FLOATS = (0.0, -0.0, 1.0, -2.5, float("inf"), float("nan"))


@final
class Callees:
    """The callees of one run, all of one mind.

    In reach are the program's arguments and what a pointer was passed to; a run in which a callee touches what is gone
    has no meaning.

    :param seed: decides all; the same for the two programs.
    """

    def __init__(self, seed: int = 0) -> None:
        self.known = str(seed)
        self.reach: list[View] = []
        self.gone: list[View] = []

    def begin(self, views: Sequence[View]) -> None:
        self.reach += views

    def end(self, view: View) -> None:
        self.gone.append(view)

    def call(self, op: str, given: Sequence[Given], result: DType) -> Value:
        self._learn(op, *[self._seen(g) for g in given])
        for place, view in enumerate(self.reach):
            element = self._element(view)
            if element is not None:
                value = view.read(view.block, element)
                if value is UNDEF:
                    raise UndefinedBehaviour("undef-branch", f"{op} asks for an element of {view.name} that is undef")
                self._learn(place, element, value)
        for view in self.reach:
            element = self._element(view)
            if element is not None:
                view.write(view.block, element, self._some(view.dtype.scalar))
        return vector([self._some(result.scalar) for _ in range(result.lanes)])

    def _learn(self, *what: object) -> None:
        """All that was known is in the new text, so that what is drawn next depends on it."""
        self.known = hashlib.sha256(repr((self.known, what)).encode()).hexdigest()

    def _draw(self) -> random.Random:
        self._learn("drawn")
        return random.Random(self.known)

    def _seen(self, given: Given) -> object:
        """What a callee can tell of what it is given; of a pointer, which block it points into and where.

        What is allocated again may lie where it lay before: nobody can tell that it does not.
        """
        if not isinstance(given, Pointer):
            return given
        view = given.view
        for place, known in enumerate(self.reach):
            again = known in self.gone and (known.name, known.dtype) == (view.name, view.dtype)
            if known.block is view.block or again:
                self.reach[place] = view
                return place, given.byte
        self.reach.append(view)
        return len(self.reach) - 1, given.byte

    def _element(self, view: View) -> int | None:
        """Where some element lies, if the callee touches one of this memory."""
        draw = self._draw()
        if draw.random() < 0.4:
            return None
        if any(v.block is view.block for v in self.gone):
            raise UndefinedBehaviour("out-of-bounds", f"a callee touches {view.name}, which is gone")
        count = len(view.block.data) // view.lane_bytes
        if not count:
            return None
        element = draw.randrange(count) * view.lane_bytes
        closed = view.block.inaccessible
        return None if closed is not None and any(closed[element : element + view.lane_bytes]) else element

    def _some(self, scalar: DType) -> Scalar:
        draw = self._draw()
        if scalar.is_float:
            return draw.choice(_FLOATS)
        if scalar.is_bool:
            return draw.random() < 0.5
        return max(scalar.min_value, draw.randint(-2, 4)) if scalar.is_int else 0
