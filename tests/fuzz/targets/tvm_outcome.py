"""The outcome of a program that TVM was asked about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, final

from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse_func

HEAD: Final = "# from tvm.script import ir as I\n# from tvm.script import tirx as T\n"
TRIALS: Final = 4
"""So many arguments are tried."""
Say = Callable[[str], None]


@final
@dataclass(slots=True)
class TvmOutcome:
    """The outcome of one program.

    :ivar counts: totals.
    :ivar covered: groups and names.
    :ivar wrong: our faults: kind, place, message.
    :ivar bugs: TVM's, by primitive or pass, with what shows it.
    """

    counts: dict[str, int] = field(default_factory=dict)
    covered: list[tuple[str, str]] = field(default_factory=list)
    wrong: list[tuple[str, str, str]] = field(default_factory=list)
    bugs: list[tuple[str, str]] = field(default_factory=list)

    def count(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1


def quiet(_: str) -> None:
    """A listener that ignores what it hears."""


def read_back(text: str) -> PrimFunc | None:
    """A program in TVM's text; ``None`` if it cannot be read here."""
    try:
        return parse_func(text)
    except Exception:
        return None


__all__ = ["HEAD", "TRIALS", "Say", "TvmOutcome", "quiet", "read_back"]
