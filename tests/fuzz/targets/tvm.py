"""``tvm``: the bridge to TVM, and TVM under the validator.

A program goes to TVM and comes back the same.  TVM's primitives and passes change it; the validator judges each step,
the interpreter judges the validator, and TVM's own machine code tells a wrong step of TVM's from a wrong word of ours.
What TVM gets wrong is counted (``TVM bugs``, ``TVM bugs that are news``, ``TVM died``) and is no finding; the list of
what is known is in ``tvm_known``, with the sections of docs/tvm-findings.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, final

from hypothesis import strategies as st

from tests.fuzz.targets.tvm_known import KNOWN
from tests.fuzz.targets.tvm_programs import PRIMITIVES, Plan, plans, texts
from tests.fuzz.targets.tvm_worker import Died, Worker
from verified_tir.fuzz.target import Disagreement, Observed, quoted
from verified_tir.ir.script import script
from verified_tir.testing.programs import prim_funcs

_DTYPES: Final = ("float32", "int32", "int64", "float64", "int8", "uint8")


@final
@dataclass(frozen=True, slots=True)
class Case:
    """A program's text, TVM's steps for it, and a seed for its arguments."""

    text: str
    plans: tuple[Plan, ...]
    seed: int


@final
class Tvm:
    """The target.

    :param isolated: whether TVM runs in a process of its own, which it may end.
    """

    name = "tvm"
    summary = "programs to TVM and back; TVM's steps and builds against the validator, the interpreter, machine code"
    requires: Sequence[str] = ("hypothesis", "tvm")

    def __init__(self, *, isolated: bool = True) -> None:
        self.isolated = isolated

    @cached_property
    def worker(self) -> Worker:
        """The process that TVM runs in."""
        return Worker()

    def universe(self) -> Sequence[tuple[str, str]]:
        """TVM's primitives."""
        return [("TVM primitive", name) for name in PRIMITIVES]

    def cases(self) -> st.SearchStrategy[Case]:
        """Programs in TVM's words with steps; and programs of our own, there and back."""
        seed = st.integers(0, 999)
        steps = st.lists(plans(), max_size=5).map(tuple)
        scheduled = st.builds(Case, texts(), steps, seed)
        own = prim_funcs(dtypes=_DTYPES).map(script)
        return st.one_of(scheduled, scheduled, st.builds(Case, own, st.just(()), seed))

    def check(self, case: Case, observed: Observed) -> None:
        """Count what TVM does, and raise what is ours."""
        try:
            if self.isolated:
                outcome = self.worker.examine(case.text, case.plans, case.seed)
            else:
                from tests.fuzz.targets.tvm_checks import examine

                outcome = examine(case.text, case.plans, case.seed)
        except Died as died:
            if died.at.startswith("tvm:"):
                observed.count("TVM died")
                observed.cover("TVM died", died.at.removeprefix("tvm: "))
                return
            raise Disagreement("died", died.at, f"{died.how}\n{case.text}\n{case.plans}") from died
        for name, times in outcome.counts.items():
            observed.count(name, times)
        for group, name in outcome.covered:
            observed.cover(group, name)
        for where, _ in outcome.bugs:
            observed.count("TVM bugs")
            observed.cover("TVM bug", where)
            if where not in KNOWN:
                observed.count("TVM bugs that are news")
                observed.cover("TVM bug that is news", where)
        for kind, where, message in outcome.wrong:
            raise Disagreement(kind, where, f"{message}\n{case.text}\n{case.plans}")

    def as_test(self, case: Case, name: str) -> str:
        """The program and the steps."""
        steps = "".join(f"    Plan({p.primitive!r}, {p.numbers!r}),\n" for p in case.plans)
        return (
            '"""Found by a campaign: TVM, our bridge to it, the validator and the interpreter."""\n\n'
            "import pytest\n\n"
            'pytest.importorskip("tvm")\n\n'
            "from tests.fuzz.targets.tvm_checks import examine  # noqa: E402\n"
            "from tests.fuzz.targets.tvm_programs import Plan  # noqa: E402\n\n"
            f"PROGRAM = {quoted(case.text)}\n"
            f"PLANS = [\n{steps}]\n\n\n"
            f"def {name}() -> None:\n"
            f"    assert examine(PROGRAM, PLANS, {case.seed}).wrong == []\n"
        )


TARGET: Final = Tvm()
