"""Plans of models: honest ones pass, and a forged one is found, is named as believed, or means the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from hypothesis import strategies as st

from tests.fuzz.targets.forged_plans import Unfound, assert_found
from tests.fuzz.targets.forgeries import FORGERIES
from tests.fuzz.targets.honest_plans import COUNT, honest
from verified_tir.fuzz.target import Disagreement, Observed


@final
@dataclass(frozen=True, slots=True)
class Forgeries:
    """Which model's plan is forged, and how: kinds of forgery, each with four numbers.

    :ivar with_model: whether the check is given the model.
    """

    model: int
    changes: tuple[tuple[str, tuple[int, int, int, int]], ...]
    with_model: bool

    def check(self, observed: Observed) -> None:
        """The plan is found to be forged, or what is believed of it is said, or its graphs compute the same."""
        try:
            outcome = assert_found(honest(self.model), self.changes, with_model=self.with_model)
        except Unfound as wrong:
            raise Disagreement(wrong.kind, wrong.where, wrong.message) from wrong
        observed.count("plans")
        observed.count(f"plans: {outcome}")
        for kind, _ in self.changes:
            observed.cover("forgery of a plan", kind)

    def as_test(self, name: str) -> str:
        """The same changes of the same plan."""
        return (
            '"""Found by a campaign: a plan that should be found to be forged."""\n\n'
            "from tests.fuzz.targets.forged_plans import assert_found\n"
            "from tests.fuzz.targets.honest_plans import honest\n\n\n"
            f"def {name}() -> None:\n"
            f"    changes = {list(self.changes)!r}\n"
            f"    assert_found(honest({self.model}), changes, with_model={self.with_model})\n"
        )


def forgeries() -> st.SearchStrategy[Forgeries]:
    """One change, or two, of the plan of one of some small models."""
    number = st.integers(0, 9999)
    change = st.tuples(st.sampled_from(sorted(FORGERIES)), st.tuples(number, number, number, number))
    return st.builds(
        Forgeries, st.integers(0, COUNT - 1), st.lists(change, min_size=1, max_size=2).map(tuple), st.booleans()
    )
