"""``vtir verify --to-llvm``: is the LLVM IR of a schedule that was proved what its program says?

The program is lowered by the default pipeline, every pass proved, and built.  Its LLVM IR, as the emitter wrote it
and as the optimiser left it, is given to the validator's executor of LLVM IR together with the lowered program, at
some sizes. If that finds a difference, the emitter, LLVM or the executor is wrong.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final, final

from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import script
from verified_tir.report.model import MachineCodeReport, MachineCodeSize, OpinionName
from verified_tir.schedule.disagreement import write_reproduction
from verified_tir.validate.sizes import symbols

if TYPE_CHECKING:
    from verified_tir.schedule.schedule import Schedule
    from verified_tir.validate.llvm import LLVMReport

SIZES: Final = (0, 1, 5, 17, 67)
"""What every symbol is, in turns, as far as that does not take too long; the last ones reach vector loops and tails."""
MOST_OPERATIONS: Final = 400_000
"""Estimated operations of the program at one size: a few seconds for each text."""
TEXTS: Final = ("as written", "optimised")


@final
@dataclass(frozen=True, slots=True)
class MachineCode:
    """What is said of one schedule; ``bug`` has everything that is needed to look into a difference."""

    report: MachineCodeReport
    bug: str = ""


def to_llvm(made: Schedule) -> MachineCode:
    """The executor's word on the LLVM IR of a schedule."""
    from verified_tir.codegen.build import build
    from verified_tir.codegen.errors import CodegenError
    from verified_tir.lower.pipelines import PIPELINES
    from verified_tir.schedule.errors import ScheduleError

    try:
        built = build(made, pipeline=PIPELINES["default"], cache=False)
        texts = dict(zip(TEXTS, (built.llvm_ir, built.optimised_ir), strict=True))
    except (ScheduleError, CodegenError) as problem:
        return MachineCode(MachineCodeReport("undecided", f"there is no machine code: {problem}", ()))
    return compare(built.func, texts)


def compare(func: PrimFunc, texts: Mapping[str, str]) -> MachineCode:
    """The executor's word on some texts that are to implement one program."""
    from verified_tir.logic.solver import Solver
    from verified_tir.schedule.operations import operations
    from verified_tir.validate.llvm import validate_llvm
    from verified_tir.validate.llvm.validator import BUDGET
    from verified_tir.validate.verdict import Different

    names, solver = symbols(func), Solver(budget=BUDGET)
    asked: list[tuple[str, LLVMReport]] = []
    left_out: list[int] = []
    for size in SIZES if names else SIZES[:1]:
        sizes = dict.fromkeys(names, size)
        if operations(func, sizes) > MOST_OPERATIONS:
            left_out.append(size)
            continue
        for name, text in texts.items():
            start = time.perf_counter()
            report = validate_llvm(func, text, sizes=sizes, solver=solver)
            asked.append((name, report))
            if isinstance(report.verdict, Different):
                sentence = f"THE LLVM IR {name.upper()} DIFFERS{_at(names, [size])}: {report.verdict}"
                done = MachineCodeReport("disagrees", sentence, tuple(_sizes(asked)), time.perf_counter() - start)
                return MachineCode(done, _evidence(func, name, text, report))
    word, sentence = _summary(names, asked, left_out)
    return MachineCode(MachineCodeReport(word, sentence, tuple(_sizes(asked)), sum(r.seconds for _, r in asked)))


def _sizes(asked: list[tuple[str, LLVMReport]]) -> Iterator[MachineCodeSize]:
    for name, r in asked:
        yield MachineCodeSize(name, dict(r.sizes), str(r.verdict), r.instructions, r.seconds)


def _summary(names: list[str], asked: list[tuple[str, LLVMReport]], left_out: list[int]) -> tuple[OpinionName, str]:
    from verified_tir.validate.llvm import never_reached
    from verified_tir.validate.verdict import Equal

    if not asked:
        return "undecided", "the LLVM IR was not looked at: the program executes too much even at small sizes"
    for name, r in asked:
        if not isinstance(r.verdict, Equal):
            return (
                "undecided",
                f"the LLVM IR {name} was not decided{_at(names, list(r.sizes.values())[:1])}: {r.verdict}",
            )
    telling = [(name, r) for name, r in asked if isinstance(r.verdict, Equal) and not r.verdict.vacuous]
    if not telling:
        return "undecided", "the LLVM IR was looked at for no input on which the program has a meaning"
    values = list(dict.fromkeys(v for _, r in telling for v in list(r.sizes.values())[:1]))
    reached = []
    for name in TEXTS:
        reports = [r for n, r in telling if n == name]
        if reports:
            reached.append(f"{reports[0].blocks - len(never_reached(reports))} of {reports[0].blocks} blocks {name}")
    more = f"; {', '.join(map(str, left_out))} would have taken too long" if left_out else ""
    return "agrees", f"the LLVM IR agrees, bit for bit{_at(names, values)} ({', '.join(reached)} were reached{more})"


def _at(names: list[str], values: list[int]) -> str:
    return f" at {', '.join(names)} = {', '.join(map(str, values))}" if names and values else ""


# --------------------------------------------------------------------------------------------------------- evidence


def _evidence(func: PrimFunc, name: str, text: str, report: LLVMReport) -> str:
    """What to say, and a file that shows the difference again."""
    path = _written(func, text, report)
    return (
        f"The LLVM IR {name} of {func.name} does not do what its program says: {report.verdict}\n"
        f"(sizes: {dict(report.sizes)}).  That is a bug in verified_tir or in LLVM; please report it.\n"
        f"all of this, to attach to a report: {path}"
    )


def _written(func: PrimFunc, text: str, report: LLVMReport) -> Path:
    versions = ", ".join(f"{p} {version(p)}" for p in ("verified_tir", "llvmlite", "numpy", "z3-solver"))
    lines = [
        '"""LLVM IR that does not do what its program says, found by `vtir verify --to-llvm`.',
        "",
        f"found:    {str(report.verdict).replace(chr(92), '/')}",
        f"versions: {versions}",
        "seed:     none; the same inputs are drawn every time",
        '"""',
        "",
        "from verified_tir import parse_func",
        "from verified_tir.validate.llvm import validate_llvm",
        "",
        f"PROGRAM = r'''\n{script(func)}\n'''",
        "",
        f"LLVM = r'''\n{text}\n'''",
        "",
        f"report = validate_llvm(parse_func(PROGRAM), LLVM, sizes={dict(report.sizes)!r})",
        "print(report.verdict)",
        'for name, value in getattr(report.verdict, "arguments", {}).items():',
        '    print(name, "=", repr(value))',
        "",
    ]
    return write_reproduction("vtir-bug-llvm", "\n".join(lines))
