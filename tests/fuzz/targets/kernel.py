"""Schedules against the interpreter and machine code: what is accepted changes nothing, what is confirmed is wrong.

A case is either a small program with rules of the kernel for it, tried without any tactic (``kernel_rules``); or a
program, plans for steps, and a seed for arguments.  Of each step:

* accepted: the program after refines the program before on all arguments tried (results, padding, licences); it is
  well-formed, and its text reads back as itself; now and then machine code is compared, and the certificate checked;
* refused: nothing has changed; if the refusal says ``confirmed``, its counterexample shows a difference;
* nothing is raised but a ``ScheduleError``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, final

from hypothesis import strategies as st

from tests.fuzz.targets.inputs import Input, inputs
from tests.fuzz.targets.kernel_rules import examine
from tests.fuzz.targets.kernel_source import Demands, test_of, test_of_rules
from tests.parts.lowered import rule_names
from tests.rules.cases import RuleCase, rule_cases
from tests.rules.family import plain_solver
from verified_tir.fuzz.target import Disagreement, Observed
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse_func, script
from verified_tir.kernel.theorem import Refines
from verified_tir.logic.solver import Solver
from verified_tir.schedule.errors import NotApplicable, Refuted, ScheduleError, Undecided
from verified_tir.schedule.replay import brief_replays
from verified_tir.schedule.schedule import Schedule, StepRecord
from verified_tir.semantics.interpreter import Outcome
from verified_tir.testing.assertions import assert_certificate_rechecks, assert_confirmed, machine_code_problem
from verified_tir.testing.programs import prim_funcs
from verified_tir.testing.reference import Claim, disagreement
from verified_tir.testing.scheduling import Draft, Step, Taken, primitives, schedules, seeds

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

INPUTS: Final = 6
"""Arguments on which a theorem is tried."""
BUDGET: Final = 150_000
"""Of the solver for one question: what takes longer counts as undecided."""
RULES_FOR_EACH: Final = 30
"""Cases of rules for each schedule."""
TURN: Final = 7
"""Which of the numbers means a schedule: Hypothesis draws the first and the last of a range more often than others."""
REPLAYED: Final = 20_000
"""Work on one counterexample: nearly all that are confirmed are so at once."""
REMEMBERED: Final = 200_000
"""Verdicts that are kept before memory is freed again."""


@final
@dataclass(frozen=True, slots=True)
class KernelCase:
    """A program with steps, and how closely it is looked at.

    :ivar seed: of the arguments.
    :ivar machine_code: whether the last program is compiled, too.
    :ivar certificate: whether the certificate is written and checked, too.
    """

    draft: Draft
    seed: int = 0
    machine_code: bool = False
    certificate: bool = False


@final
@dataclass(slots=True)
class Examined:
    """What was done of a case when it ended, for the test that is written of it."""

    program: str = ""
    taken: list[Taken] = field(default_factory=list)
    arguments: dict[str, Any] | None = None


@final
class KernelTarget:
    """Random schedules of random programs."""

    name = "kernel"
    summary = "schedules: what is accepted against interpreter and machine code, what is refused against its replay"
    requires: Sequence[str] = ()

    def __init__(self) -> None:
        self._solver = Solver(BUDGET)
        self._plain = plain_solver()

    def universe(self) -> Sequence[tuple[str, str]]:
        """Every primitive, and every rule of the kernel."""
        return [*(("primitive", p) for p in primitives()), *(("rule", r) for r in rules())]

    def cases(self) -> SearchStrategy[KernelCase | RuleCase]:
        """Textbook programs and random ones, with up to six steps or sequences; rules on programs made for them.

        The latter take a twentieth of the time of the former, so there are so many more.
        """
        return st.integers(0, RULES_FOR_EACH).flatmap(lambda k: kernel_cases() if k == TURN else rule_cases())

    def check(self, case: KernelCase | RuleCase, observed: Observed) -> None:
        """:raises Disagreement: if a property does not hold."""
        if isinstance(case, RuleCase):
            examine(case, observed, self._plain)
            return
        if len(self._solver.store.notes) > REMEMBERED:
            self._solver = Solver(BUDGET)
        with brief_replays(REPLAYED):
            _Examination(case, observed, self._solver).run()

    def as_test(self, case: KernelCase | RuleCase, name: str) -> str:
        """The steps as a person would write them, and what must hold after them."""
        if isinstance(case, RuleCase):
            return test_of_rules(name, case)
        examination = _Examination(case, Observed(), Solver(BUDGET))
        said, text = "every step that is accepted keeps the results", False
        try:
            with brief_replays(REPLAYED):
                examination.run()
        except Disagreement as found:
            said, text = str(found), found.kind == "text-differs"
        except Exception as crash:  # the step that it happened in is the last one taken
            said = f"{type(crash).__name__}: {crash}"
        done = examination.done
        demands = Demands(done.arguments, case.machine_code, case.certificate, text)
        return test_of(name, said, done.program, done.taken, demands)


def kernel_cases() -> SearchStrategy[KernelCase]:
    """Schedules; one in eight is compiled, the certificate of one in 96 is checked."""
    programs: SearchStrategy[Any] = st.one_of(seeds(), prim_funcs())
    return st.builds(
        KernelCase, schedules(programs, max_steps=6), st.integers(0, 255), st.sampled_from((False,) * 7 + (True,)),
        st.sampled_from((False,) * 95 + (True,)),
    )  # fmt: skip


def rules() -> list[str]:
    """The kernel's rules, by name."""
    import importlib
    import pkgutil

    from verified_tir.kernel import rules as package

    found: dict[str, None] = {}
    for module in pkgutil.iter_modules(package.__path__):
        loaded = importlib.import_module(f"{package.__name__}.{module.name}")
        for name, value in vars(loaded).items():
            if isinstance(value, type) and value.__module__ == loaded.__name__ and hasattr(value, "rewrite"):
                found[name] = None
    return sorted(found)


@final
class _Examination:
    """One case, step by step."""

    def __init__(self, case: KernelCase, observed: Observed, solver: Solver) -> None:
        self.case, self.observed, self.solver = case, observed, solver
        self.done = Examined()
        self._tried_on: list[Input] | None = None
        self._before: PrimFunc | None = None

    def run(self) -> None:
        """Take all steps, and look at each."""
        program = self.case.draft.program
        self.done.program = program if isinstance(program, str) else script(program)
        self.observed.count("programs")
        try:
            s = Schedule(program, solver=self.solver, cache=False)
        except ScheduleError as refusal:
            self.observed.count("meaningless")
            self.confirmed(refusal, "the program itself")
            return
        self.as_written(s)
        theorem, count = s.theorem, len(s.steps)
        for taken in self.case.draft.steps(s, self.begun):
            self.done.taken[-1] = taken
            self.observed.cover("tried", taken.step.primitive)
            if taken.refusal is None:
                self.accepted(s, taken, theorem, count)
            else:
                self.refused(s, taken, taken.refusal, theorem, count)
            theorem, count = s.theorem, len(s.steps)
        self.at_the_end(s)

    def begun(self, step: Step) -> None:
        """A step is about to be taken; if it raises what it must not, it is the last one."""
        self.done.taken.append(Taken(step))

    # -- accepted --------------------------------------------------------------------------------------------------

    def as_written(self, s: Schedule) -> None:
        """The program as it was written, and as its blocks were expanded, do the same."""
        written = s.steps[0].before
        if written is s.func:
            return
        for given in self.inputs(s.theorem):
            problem = disagreement(Claim(written, s.func), given.arguments)
            if problem is not None:
                self.done.arguments = given.arguments
                raise Disagreement("expansion-differs", "blocks", self.described(s, problem, given))

    def accepted(self, s: Schedule, taken: Taken, theorem: Refines, count: int) -> None:
        primitive = taken.step.primitive
        self.observed.count("accepted")
        self.observed.cover("primitive", primitive)
        if len(s.steps) != count + 1:
            raise Disagreement("steps-miscounted", primitive, f"{len(s.steps) - count} records of {taken}")
        record = s.steps[-1]
        for rule in rule_names(record.rules):
            self.observed.cover("rule", rule)
        if s.theorem is theorem:
            return
        if not structural_equal(parse_func(script(s.func)), s.func):
            raise Disagreement("text-differs", primitive, f"after {taken}\n{script(s.func)}")
        problem = self.contradicted(Claim.of(s.theorem))
        if problem is not None:
            self.done.arguments = problem[1].arguments
            where = f"{primitive}: {self.blamed(record, theorem)}"
            raise Disagreement("accepted-but-differs", where, self.described(s, *problem))

    def contradicted(self, claim: Claim) -> tuple[str, Input] | None:
        """An input on which a claim is false."""
        for given in self.inputs(claim):
            first = given.end
            problem = disagreement(claim, given.arguments, first=first)
            if problem is not None:
                return problem, given
        return None

    def inputs(self, claim: Claim | Refines) -> list[Input]:
        """Arguments on which the program before has a meaning."""
        if self._tried_on is None or self._before is not claim.before:
            self._before = claim.before
            self._tried_on = [*inputs(claim.before, self.case.seed, INPUTS)]
        if claim.reassociated:
            return [*inputs(claim.before, self.case.seed, INPUTS, natural=True)]
        return self._tried_on

    def blamed(self, record: StepRecord, theorem: Refines) -> str:
        """The first rule of a step after which something differs, as far as that can be told."""
        for step in record.rules:
            if [b.shape for b in step.after.buffers] != [b.shape for b in theorem.after.buffers]:
                return type(step.rule).__name__  # another layout: what comes after it is not tried by itself
            bits = Claim(theorem.before, step.after, theorem.relation, theorem.paddings)
            if any(disagreement(bits, g.arguments, first=g.end) for g in self._tried_on or []):
                return type(step.rule).__name__
        return type(record.rules[-1].rule).__name__ if record.rules else "no rule"

    def described(self, s: Schedule, problem: str, given: Input) -> str:
        """A disagreement with everything that a reader needs."""
        steps = "\n".join(str(t) for t in self.done.taken)
        shown = ", ".join(f"{k} = {v.tolist() if hasattr(v, 'tolist') else v}" for k, v in given.arguments.items())
        return f"{problem}\n{self.done.program}\n{steps}\n\n{script(s.func)}\non {shown}"

    # -- refused ---------------------------------------------------------------------------------------------------

    def refused(self, s: Schedule, taken: Taken, refusal: ScheduleError, theorem: Refines, count: int) -> None:
        self.observed.count("refused")
        primitive = taken.step.primitive
        if s.theorem is not theorem or len(s.steps) != count:
            raise Disagreement("refused-but-changed", primitive, f"{taken}\n{self.done.program}")
        if not str(refusal):
            raise Disagreement("refused-without-a-word", primitive, f"{taken}\n{self.done.program}")
        self.confirmed(refusal, primitive)

    def confirmed(self, refusal: ScheduleError, where: str) -> None:
        """Count a refusal; what it says of a counterexample is looked at."""
        match refusal:
            case NotApplicable():
                self.observed.count("not applicable")
            case Undecided():
                self.observed.count("undecided")
            case Refuted() if not refusal.confirmed:
                self.observed.count("unconfirmed")
            case Refuted():
                self.observed.count("confirmed")
                try:
                    if not assert_confirmed(refusal):
                        self.observed.count("confirmed, not run")
                except AssertionError as wrong:
                    raise Disagreement("confirmed-but-agrees", where, str(wrong)) from None

    # -- at the end ------------------------------------------------------------------------------------------------

    def at_the_end(self, s: Schedule) -> None:
        if self.case.machine_code:
            self.machine_code(s)
        if self.case.certificate and len(s.steps) > 1:
            self.observed.count("certificates")
            try:
                assert_certificate_rechecks(s)
            except AssertionError as wrong:
                text = str(wrong)
                if all(line.startswith("undecided: ") for line in text.split("\n")[1 : -len(s.steps)]):
                    self.observed.count("certificates, undecided")
                    return
                raise Disagreement("certificate", s.steps[-1].name, f"{text}\n{self.done.program}") from None

    def machine_code(self, s: Schedule) -> None:
        given = next((g for g in self.inputs(s.theorem) if isinstance(g.end, Outcome)), None)
        if given is None:
            return
        try:
            s.prove_race_free()
        except ScheduleError:  # memory of threads waits for a later step
            self.observed.count("not free of races")
            return
        self.observed.count("compiled")
        self.done.arguments = given.arguments  # for the test, should it raise something
        problem = machine_code_problem(s, given.arguments)
        if problem is not None:
            raise Disagreement("machine-code-differs", s.steps[-1].name, self.described(s, problem, given))


TARGET: Final = KernelTarget()
