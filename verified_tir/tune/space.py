"""The free parameters of a strategy: its sampling instructions, and what is decided of each.

A strategy that is tuned runs on a :class:`Tuned` schedule.  ``sample_categorical``, ``sample_perfect_tile`` and
``sample_compute_location`` then draw nothing: they take the next decision of the candidate.  What the strategy decides
itself (``decision=…``), or else a plain choice, is the default.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import IntImm, Var
from verified_tir.schedule.copies import block_of_copy
from verified_tir.schedule.primitives_sampling import locations
from verified_tir.schedule.sampling import Sampled, divisors
from verified_tir.schedule.schedule import Schedule
from verified_tir.schedule.session import Handle

Decision: TypeAlias = "int | tuple[int, ...]"
"""As the argument ``decision`` of the instruction: the number of a candidate or location, or factors."""


@final
@dataclass(frozen=True, slots=True)
class Site:
    """Where an instruction is called: the file, and the first and last line and column of the call."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int


@final
@dataclass(frozen=True, slots=True)
class Choice:
    """A sampling instruction that a strategy reached.

    :ivar among: the candidates; extent, number of factors and the largest last factor; or the numbers of locations.
    :ivar default: the decision of the strategy itself.
    """

    kind: Literal["categorical", "perfect_tile", "compute_location"]
    among: tuple[int, ...]
    default: Decision
    site: Site

    @property
    def count(self) -> int:
        """The number of possible decisions, or 2 for more than one list of factors."""
        if self.kind != "perfect_tile":
            return len(self.among)
        extent, n, _ = self.among
        return 1 if n == 1 or extent == 1 else 2

    def same(self, other: Choice) -> bool:
        """Whether both are decided alike; where they are called does not matter."""
        return (self.kind, self.among) == (other.kind, other.among)

    def shown(self, decision: Decision) -> str:
        """What the instruction then gives."""
        if self.kind == "categorical":
            assert isinstance(decision, int)
            return str(self.among[decision])
        return str(list(decision)) if isinstance(decision, tuple) else str(decision)


@final
class Open(Exception):
    """A strategy asks for a decision that has not been taken, or was taken for another question."""

    def __init__(self, number: int, choice: Choice) -> None:
        super().__init__(number, choice)
        self.number, self.choice = number, choice


@final
class Tuned(Schedule):
    """A schedule whose sampling instructions take decisions in order; ``None`` takes the defaults."""

    decisions: Sequence[tuple[Choice | None, Decision]] | None = None
    """With what each is a decision about, if it matters that this is asked."""

    @property
    def taken(self) -> list[tuple[Choice, Decision]]:
        """What was asked so far, and decided."""
        found: list[tuple[Choice, Decision]] = self.__dict__.setdefault("_taken", [])
        return found

    @property
    def choices(self) -> tuple[Choice, ...]:
        """What was asked so far."""
        return tuple(choice for choice, _ in self.taken)

    def _decided(self, kind: Any, among: tuple[int, ...], default: Decision) -> Any:
        number = len(self.taken)
        choice = Choice(kind, among, default, _site())
        if self.decisions is None:
            decision = default
        else:
            known = self.decisions[number] if number < len(self.decisions) else None
            if known is None or not (known[0] is None or known[0].same(choice)):
                raise Open(number, choice)
            decision = known[1]
        self.taken.append((choice, decision))
        return decision

    def sample_categorical(
        self, candidates: Sequence[int], probs: Sequence[float], decision: int | None = None
    ) -> Sampled:
        """The candidate that is decided; see :class:`Schedule`."""
        usable = bool(candidates) and len(candidates) == len(probs) and max(probs) > 0
        if usable and (decision is None or 0 <= decision < len(candidates)):
            likely = max(range(len(probs)), key=lambda k: probs[k])
            among = tuple(map(int, candidates))
            decision = self._decided("categorical", among, likely if decision is None else int(decision))
        return super().sample_categorical(candidates, probs, decision)

    def sample_perfect_tile(
        self, loop: Handle, n: int, max_innermost_factor: int = 16, decision: Sequence[int] | None = None
    ) -> list[Sampled]:
        """The factors that are decided; see :class:`Schedule`."""
        _, target = self._look("sample_perfect_tile", lambda s: s.loop(loop))
        usable = isinstance(target.extent, IntImm) and target.extent.value >= 1 and n >= 1 and max_innermost_factor >= 1
        if usable and (decision is None or len(decision) == n):
            assert isinstance(target.extent, IntImm)
            extent = target.extent.value
            default = (extent, *[1] * (n - 1)) if decision is None else tuple(map(int, decision))
            decision = self._decided("perfect_tile", (extent, n, max_innermost_factor), default)
        return super().sample_perfect_tile(loop, n, max_innermost_factor, decision)

    def sample_compute_location(self, block: str | Buffer, decision: int | None = None) -> Var | str:
        """The location that is decided; see :class:`Schedule`."""
        found = self._look("sample_compute_location", lambda s: locations(s, block_of_copy(s, block)))
        if decision is None or decision in found:
            default = -1 if decision is None else int(decision)
            decision = self._decided("compute_location", tuple(found), default)
        return super().sample_compute_location(block, decision)


def _site() -> Site:
    """The call of the instruction, three frames up."""
    frame = sys._getframe(3)
    code = frame.f_code
    positions = next(itertools.islice(code.co_positions(), frame.f_lasti // 2, None))
    line, end_line, column, end_column = (p or 0 for p in positions)
    return Site(code.co_filename, line, column, end_line, end_column)


def factors(choice: Choice, where: Sequence[float]) -> tuple[int, ...]:
    """Factors by numbers from 0 to 1, the last factor's first: each is a place among the divisors that are left."""
    extent, n, most = choice.among
    found: list[int] = []
    for u in where:
        of = _left(extent, found, most)
        found.insert(0, of[min(int(u * len(of)), len(of) - 1)])
        extent //= found[0]
    assert len(found) == n - 1
    return (extent, *found)


def places(choice: Choice, decision: tuple[int, ...]) -> list[float]:
    """Numbers that :func:`factors` takes to a decision; to a near one, if it could not be drawn."""
    extent, _, most = choice.among
    found: list[float] = []
    for k in range(len(decision) - 1, 0, -1):
        of = _left(extent, [0] * len(found), most)
        nearest = min(range(len(of)), key=lambda i: abs(of[i] - decision[k]))
        found.append((nearest + 0.5) / len(of))
        extent //= of[nearest]
    return found


def _left(extent: int, inner: Sequence[int], most: int) -> list[int]:
    """What the next factor may be; only the last one is bounded."""
    return [d for d in divisors(extent) if inner or d <= most]
