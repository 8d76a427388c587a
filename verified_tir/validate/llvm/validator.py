"""``validate_llvm``: does LLVM IR do what a program says?

1. LLVM reads and verifies the text, and prints it; that is what is parsed.
2. The program and the kernel are executed symbolically at given sizes, with one table of terms.
3. Has the kernel undefined behaviour where the program has none?  Is every defined result of the program there, bit for
   bit: as the same term, as a normal form, for the solver?
4. If not: does an input, replayed by the interpreter and by machine code, show a difference?
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, final

from verified_tir.ir.func import PrimFunc
from verified_tir.logic.solver import Solver
from verified_tir.validate.compare import compare, extra_events
from verified_tir.validate.concrete import Search
from verified_tir.validate.interface import Side, listed
from verified_tir.validate.llvm.decide import Judge, decide
from verified_tir.validate.llvm.graph import Graph
from verified_tir.validate.llvm.parser import parse
from verified_tir.validate.llvm.reference import in_machine_words, scales
from verified_tir.validate.llvm.replay import Kernel, search
from verified_tir.validate.llvm.session import LLVMExit, run_kernel
from verified_tir.validate.llvm.threads import PARALLEL
from verified_tir.validate.memory import Refused
from verified_tir.validate.operators import Builder
from verified_tir.validate.session import Exit, execute
from verified_tir.validate.terms import Terms, TooManyTerms
from verified_tir.validate.verdict import Different, Equal, Unknown, Verdict

SIZES: Final = (1, 5, 17)
"""What every symbol is, in turns."""
MOST_OPERATIONS: Final = 3_000_000
MOST_INSTRUCTIONS: Final = 2_000_000
MOST_STEPS: Final = 100_000
MOST_INPUTS: Final = 25
FEW_INPUTS: Final = 5
FEW_INSTRUCTIONS: Final = 4_000
"""Inputs to try in search of a difference; fewer where a run executes more than some instructions."""
BUDGET: Final = 1_000_000  # of Z3, for each question


@final
@dataclass(frozen=True, slots=True)
class LLVMReport:
    """A verdict at some sizes, and how it was come by.

    ``instructions`` were executed.  ``blocks`` are the basic blocks of the module, ``unreached`` those that no size
    reached, as ``function:block``: nothing is said about them.
    """

    verdict: Verdict
    sizes: Mapping[str, int] = field(default_factory=dict)
    instructions: int = 0
    blocks: int = 0
    unreached: frozenset[str] = frozenset()
    seconds: float = 0.0


def validate_llvm(
    func: PrimFunc,
    llvm_text: str,
    *,
    sizes: Mapping[str, int] | None = None,
    most_operations: int = MOST_OPERATIONS,
    most_instructions: int = MOST_INSTRUCTIONS,
    most_steps: int = MOST_STEPS,
    solver: Solver | None = None,
) -> LLVMReport:
    """Whether the function ``vtir_kernel`` of an LLVM module refines a program at some sizes.

    :param sizes: the values of integer parameters and shape symbols, by name.
    :param most_operations: operations of the program to execute symbolically at most.
    :param most_instructions: instructions of the module to execute at most.
    :param most_steps: stores and loop iterations of each concrete run of the program at most.
    :returns: a report; what cannot be followed is the verdict :class:`Unknown`, never an exception.
    """
    start = time.perf_counter()
    sizes = dict(sizes or {})
    run = _Run(func, sizes, most_operations, most_instructions, most_steps, solver or Solver(budget=BUDGET))
    try:
        verdict = run.judge(llvm_text)
    except (Refused, TooManyTerms) as problem:
        verdict = Unknown(str(problem))
    left = run.left
    unreached = frozenset[str]() if left is None else left.unreached
    return LLVMReport(
        verdict, sizes, 0 if left is None else left.steps, run.blocks, unreached, time.perf_counter() - start
    )


def validate_llvm_sizes(
    func: PrimFunc, llvm_text: str, sizes: Iterable[Mapping[str, int]], *, solver: Solver | None = None
) -> tuple[LLVMReport, ...]:
    """One report for each of several sizes, up to the first difference; they say nothing about others."""
    asked = solver or Solver(budget=BUDGET)
    found: list[LLVMReport] = []
    for s in sizes:
        found.append(validate_llvm(func, llvm_text, sizes=s, solver=asked))
        if isinstance(found[-1].verdict, Different):
            break
    return tuple(found)


def never_reached(reports: Sequence[LLVMReport]) -> frozenset[str]:
    """The basic blocks that no run of several reached."""
    runs = [r.unreached for r in reports if r.instructions]
    return frozenset.intersection(*runs) if runs else frozenset()


@final
@dataclass(slots=True)
class _Run:
    func: PrimFunc
    sizes: Mapping[str, int]
    most_operations: int
    most_instructions: int
    most_steps: int
    solver: Solver
    left: LLVMExit | None = None
    blocks: int = 0

    def judge(self, llvm_text: str) -> Verdict:
        text = printed(llvm_text)
        module = parse(text)
        self.blocks = sum(len(f.blocks) for f in module.functions.values())
        kernel = Kernel(listed(Side.of(self.func, self.sizes)), module, text, self.most_instructions)
        found = self._judged(kernel)
        asks, parallel = module.asks_where(), f"@{PARALLEL}(" in text
        if not isinstance(found, Equal) or self.left is None or not (asks or parallel):
            return found
        once = self.left
        again = self._judged(replace(kernel, backwards=asks, shared=parallel))
        self.left = replace(once, unreached=once.unreached & self.left.unreached)
        return again

    def _judged(self, kernel: Kernel) -> Verdict:
        build = Builder(Terms(), scales=scales(self.func, kernel.text))
        try:
            program = replace(kernel.side, func=in_machine_words(self.func, scales=build.scales))
            first = execute(program, build, fast=True, budget=self.most_operations)
            if first.undefined is not None:
                return Equal(vacuous=True)
            limit = self.most_instructions
            self.left = run_kernel(
                kernel.module, kernel.side, Graph(build), limit=limit, backwards=kernel.backwards, shared=kernel.shared
            )
        except (Refused, TooManyTerms) as problem:
            return self._tried(kernel).witness or Unknown(str(problem))
        return self._ended(kernel, build.terms, first, self.left)

    def _ended(self, kernel: Kernel, terms: Terms, first: Exit, left: LLVMExit) -> Verdict:
        """The verdict on two ways to end."""
        if left.undefined is not None:
            found = self._tried(kernel)
            why = "no input was found on which the program has none"
            return found.witness or Unknown(f"the kernel has undefined behaviour ({left.undefined}); {why}")
        if first.asserted is not None or left.status:
            if first.asserted is not None and left.status > 0 and self._is_defined(terms, first, left):
                return Equal(how={"ends by an assertion": 1})
            found = self._tried(kernel)
            return found.witness or Unknown(f"the kernel returns {left.status}, and no input was found that shows why")
        return self._memories(kernel, terms, first, left)

    def _memories(self, kernel: Kernel, terms: Terms, first: Exit, left: LLVMExit) -> Verdict:
        params = kernel.side.params
        memory = {position: (ids, ids[:0]) for position, ids in left.memory.items()}
        second = Exit(memory, left.events, (), first.world)
        gap = compare(terms, first, second, params, params)
        judge = Judge(terms, self.solver, first.events)
        extra = [(pair, left.events[pair]) for pair in extra_events(terms, first, second)]
        decision = decide(judge, gap, extra)
        if not decision.left:
            return Equal(self._vacuous(kernel, first), decision.how)
        found = self._tried(kernel)
        return found.witness or Unknown(decision.left + (f"; {found.why}" if found.why else ""))

    def _is_defined(self, terms: Terms, first: Exit, left: LLVMExit) -> bool:
        """Whether the kernel has no undefined behaviour before its assertion, where the program has none."""
        judge = Judge(terms, self.solver, first.events)
        return all(pair in first.events or judge.never(*pair) for pair in left.events)

    def _vacuous(self, kernel: Kernel, first: Exit) -> bool:
        """Whether every input that is tried is one on which the program has no meaning."""
        if not first.events:
            return False
        found = self._tried(kernel)
        return found.tried > 0 and found.tried == found.undefined

    def _tried(self, kernel: Kernel) -> Search:
        large = self.left is not None and self.left.steps > FEW_INSTRUCTIONS
        return search(kernel, steps=self.most_steps, most=FEW_INPUTS if large else MOST_INPUTS)


def printed(llvm_text: str) -> str:
    """The text as LLVM prints it.

    :raises Refused: if LLVM does not take it.
    """
    import llvmlite.binding as llvm

    try:
        module = llvm.parse_assembly(llvm_text)
        module.verify()
    except RuntimeError as problem:
        raise Refused(f"LLVM refuses the text: {problem}") from problem
    return str(module)
