"""``validator``: the second opinion is itself judged.

Five kinds of case, a file each:

* two programs that differ in a place or two: the verdict is held against the interpreter (``validator_pairs``);
* a schedule: the validator does not call different what the kernel proved, nor equal what it refuted with a
  counterexample that was replayed; then the scheduled program, changed, as above (``validator_schedules``);
* a program and its LLVM IR, as emitted, optimised, and changed (``validator_llvm``);
* a folder of certificates: accepted as written, refused after tampering (``validator_certificates``);
* the plan of a model: likewise, whatever somebody forges who has honest certificates (``validator_plans``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias, final

from hypothesis import strategies as st

from tests.fuzz.targets.validator_certificates import Tampered, certificates
from tests.fuzz.targets.validator_llvm import Compiled, compiled
from tests.fuzz.targets.validator_pairs import Pair, pairs
from tests.fuzz.targets.validator_plans import Forgeries, forgeries
from tests.fuzz.targets.validator_schedules import Scheduled, scheduled
from verified_tir.fuzz.target import Observed

Case: TypeAlias = Pair | Scheduled | Compiled | Tampered | Forgeries
_WEIGHTS: Final[tuple[tuple[str, int], ...]] = (
    ("pairs", 14), ("schedules", 3), ("llvm", 1), ("certificates", 2), ("plans", 6),
)  # fmt: skip
VERDICTS: Final = ("Equal", "EqualOverReals", "EqualInPart", "Different", "Unknown", "vacuous")


@final
class Validator:
    """The target.

    :param kinds: of cases, by the names of the module's list; all of them unless given.
    """

    name = "validator"
    summary = "the validator's word against the interpreter, the kernel, machine code; certificates against tampering"
    requires: Sequence[str] = ("hypothesis",)

    def __init__(self, kinds: Sequence[str] = ()) -> None:
        self.kinds = tuple(kinds) or tuple([name for name, _ in _WEIGHTS])

    def universe(self) -> Sequence[tuple[str, str]]:
        """Verdicts of both validators, and the kinds of tampering and forgery."""
        from tests.fuzz.targets.forgeries import FORGERIES
        from tests.fuzz.targets.tampering import TAMPERINGS

        return [
            *[("verdict", name) for name in VERDICTS],
            *[("LLVM verdict", name) for name in ("Equal", "Different", "Unknown")],
            *[("tampering", name) for name in TAMPERINGS],
            *[("forgery of a plan", name) for name in FORGERIES],
        ]

    def cases(self) -> st.SearchStrategy[Case]:
        """Mostly pairs, which take least time."""
        made: dict[str, st.SearchStrategy[Any]] = {
            "pairs": pairs(), "schedules": scheduled(), "llvm": compiled(), "certificates": certificates(),
            "plans": forgeries(),
        }  # fmt: skip
        return st.sampled_from([k for k, weight in _WEIGHTS for _ in range(weight) if k in self.kinds]).flatmap(
            made.__getitem__
        )

    def check(self, case: Case, observed: Observed) -> None:
        """Each kind checks itself."""
        case.check(observed)

    def as_test(self, case: Case, name: str) -> str:
        return case.as_test(name)


TARGET: Final = Validator()
