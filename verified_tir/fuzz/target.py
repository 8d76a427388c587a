"""What a campaign asks of a target, and what a target tells the campaign.

A target draws cases (Hypothesis) and checks each.  A check that fails raises ``Disagreement``; whatever else is raised
is a finding too (a crash).  Findings with the same ``kind`` and ``where`` are one finding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar, final

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Case = TypeVar("Case")


class Disagreement(AssertionError):
    """Two things that must agree do not.

    :param kind: the property that failed, a short name with hyphens: ``accepted-but-differs``, ``jit-differs``.
    :param where: what is to blame, as far as one can tell: a primitive, a rule, a pass, a kind of expression.
    :param message: what was expected and what came out, for a reader.
    """

    def __init__(self, kind: str, where: str, message: str) -> None:
        super().__init__(f"{kind} ({where}): {message}")
        self.kind = kind
        self.where = where
        self.message = message


@final
@dataclass(slots=True)
class Observed:
    """What one worker saw: totals that a campaign adds up and shows as rates, and what was exercised.

    ``totals`` counts by name: ``programs``, ``accepted``, ``refused``, ``confirmed``, ``undecided``, and what else a
    target counts.  ``covered`` counts by group and name: ``("primitive", "split")``, ``("rule", "Swap")``,
    ``("pass", "FlattenBuffer")``.
    """

    totals: Counter[str] = field(default_factory=Counter)
    covered: Counter[tuple[str, str]] = field(default_factory=Counter)

    def count(self, name: str, times: int = 1) -> None:
        """Add to a total."""
        self.totals[name] += times

    def cover(self, group: str, name: str) -> None:
        """Note that something was exercised."""
        self.covered[group, name] += 1


class Target(Protocol[Case]):
    """A property to fuzz."""

    name: str
    """As in ``vtir fuzz --target``."""
    summary: str
    """One line for the help text: what is compared with what."""
    requires: Sequence[str]
    """Modules that must be importable (``tvm``); a campaign says which extra brings one that is missing."""

    def universe(self) -> Sequence[tuple[str, str]]:
        """What can be covered (group, name), so that a campaign can say what it never reached."""
        ...

    def cases(self) -> SearchStrategy[Case]:
        """Random cases; shrinking leads to small readable ones."""
        ...

    def check(self, case: Case, observed: Observed) -> None:
        """Raise ``Disagreement`` if the property does not hold of the case."""
        ...

    def as_test(self, case: Case, name: str) -> str:
        """The source of a pytest file with one function of that name, which fails as ``check`` does.

        It needs nothing but the public names of ``verified_tir`` and ``verified_tir.testing``; or, if the target is one
        of a source checkout, its tests.
        """
        ...


def quoted(text: str) -> str:
    """A program as a literal of Python."""
    escaped = text.strip("\n").replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""\n{escaped}\n"""'
