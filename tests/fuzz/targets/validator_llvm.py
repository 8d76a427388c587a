"""A program and its LLVM IR: as emitted, as optimised, and with an instruction or two changed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import final

from hypothesis import strategies as st

from tests.fuzz.targets.llvm_changes import changed_llvm
from tests.fuzz.targets.validator_pairs import numbers, programs
from tests.parts.llvm_verdicts import assert_llvm_verdict_holds
from tests.parts.near_misses import choices
from tests.parts.reference_runs import sizes_of
from tests.parts.verdicts import WrongVerdict
from verified_tir.codegen.build import prove_no_races
from verified_tir.codegen.compile import optimise
from verified_tir.codegen.emit import emit
from verified_tir.codegen.errors import CodegenError
from verified_tir.codegen.target import Target
from verified_tir.fuzz.target import Disagreement, Observed, quoted
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import script
from verified_tir.schedule.errors import ScheduleError
from verified_tir.schedule.schedule import Schedule
from verified_tir.validate import Different


@cache
def target() -> Target:
    """This machine, with two threads."""
    return Target.host(2)


@final
@dataclass(frozen=True, slots=True)
class Compiled:
    """A program, sizes, and what to change in its text: the optimiser's, or else the emitter's."""

    program: PrimFunc
    numbers: tuple[int, ...]
    change: tuple[int, ...]
    optimised: bool

    def check(self, observed: Observed) -> None:
        """The text is not called different; of the changed text, the verdict is so."""
        made = self.texts()
        if made is None:
            observed.count("not compiled")
            return
        func, text, changed = made
        observed.count("programs")
        sizes = sizes_of(func, self.numbers)
        which = "optimised" if self.optimised else "emitted"
        shown = f"\n{script(func)}\nat {sizes}"
        try:
            report = assert_llvm_verdict_holds(func, text, sizes=sizes, trials=2)
            observed.cover("LLVM verdict", type(report.verdict).__name__)
            if isinstance(report.verdict, Different):
                raise WrongVerdict("llvm-differs", f"what was {which} is called different: {report.verdict}\n{text}")
            observed.count("changed texts")
            report = assert_llvm_verdict_holds(func, changed, sizes=sizes)
            observed.cover("LLVM verdict", type(report.verdict).__name__)
            observed.count(f"LLVM {type(report.verdict).__name__.lower()}")
        except WrongVerdict as wrong:
            raise Disagreement(wrong.kind, f"validate_llvm, {which}", wrong.message + shown) from wrong

    def texts(self) -> tuple[PrimFunc, str, str] | None:
        """The program without blocks, its text, and the changed text; ``None`` if it has no meaning or no text."""
        try:
            s = Schedule(self.program, cache=False)
            prove_no_races(s.theorem, s.solver)
            text = emit(s.func, target()).text
            if self.optimised:
                text = str(optimise(text, target())[0])
        except (ScheduleError, CodegenError):
            return None
        return s.func, text, changed_llvm(text, self.change)

    def as_test(self, name: str) -> str:
        """Program and texts as literals."""
        made = self.texts()
        assert made is not None
        func, text, changed = made
        return (
            '"""Found by a campaign: what is said of a program and LLVM IR."""\n\n'
            "from verified_tir import parse_func\n"
            "from tests.parts.llvm_verdicts import assert_llvm_verdict_holds\n"
            "from verified_tir.validate import Different\n\n"
            f"PROGRAM = {quoted(script(func))}\n"
            f"TEXT = {quoted(text)}\n"
            f"CHANGED = {quoted(changed)}\n"
            f"SIZES = {sizes_of(func, self.numbers)!r}\n\n\n"
            f"def {name}() -> None:\n"
            "    report = assert_llvm_verdict_holds(parse_func(PROGRAM), TEXT, sizes=SIZES)\n"
            "    assert not isinstance(report.verdict, Different), report.verdict\n"
            "    assert_llvm_verdict_holds(parse_func(PROGRAM), CHANGED, sizes=SIZES)\n"
        )


def compiled() -> st.SearchStrategy[Compiled]:
    """Programs with changes."""
    return st.builds(Compiled, programs(), numbers(), choices(), st.booleans())
