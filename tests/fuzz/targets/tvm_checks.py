"""What is asked about TVM and a program: in this process, which TVM may end.

``say`` is told what comes next, ``"tvm: …"`` where TVM works and ``"validate: …"`` where we do, so that somebody who
watches knows whose fault it is if this process dies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import tvm
import tvm.script

from tests.fuzz.targets.tvm_folding import in_words
from tests.fuzz.targets.tvm_machine import compiled, may_overflow, run_machine
from tests.fuzz.targets.tvm_outcome import HEAD, TRIALS, Say, TvmOutcome, quiet, read_back
from tests.fuzz.targets.tvm_programs import Plan
from tests.fuzz.targets.tvm_steps import apply
from tests.parts.reference_runs import moved, ran, random_arguments, same_bits, sizes_of, symbols
from tests.parts.verdicts import WrongVerdict, check_verdict
from verified_tir.interop.tvm import Limits, StepReport, ValidatedSchedule, ValidatingInstrument
from verified_tir.interop.tvm.judge import judge
from verified_tir.interop.tvm.reading import Printed, read
from verified_tir.ir.dtype import INT32
from verified_tir.ir.expr import Call, Undef
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse_func, script
from verified_tir.ir.visit import walk
from verified_tir.validate.meaning import closed

LIMITS: Final = Limits(operations=100_000, seconds=3)  # a build has some twenty-five passes, and a case its limit
AGREED: Final = (
    "likely", "floor", "ceil", "trunc", "nearbyint", "round", "sqrt", "abs", "isnan", "isinf", "isfinite", "popcount",
    "reinterpret", "bitwise_not",
)  # fmt: skip
"""Calls with one meaning by the documentation of both: TVM leaves ``clz`` of 0 open, and ``exp`` to a library."""


def examine(text: str, plans: Sequence[Plan], seed: int, say: Say = quiet, *, compile_it: bool = True) -> TvmOutcome:
    """There and back; each step validated; the result compiled and run against the interpreter.

    :param text: a program, as we print it or as TVM's own words.
    """
    outcome = TvmOutcome()
    outcome.count("programs")
    ours = parse_func(text)
    if _loses_types(ours):
        outcome.count("not taken by TVM")
        return outcome
    say("tvm: reading")
    try:
        theirs = tvm.script.from_source(HEAD + text[text.index("@T.prim_func") :])
    except Exception:
        outcome.count("not taken by TVM")
        return outcome
    say("validate: round trip")
    back = _round_trip(outcome, ours, theirs)
    if back is None or back.func is None:
        return outcome
    sch, changed = _scheduled(outcome, theirs, plans, seed, say) if plans else (None, [])
    if not compile_it or any(r.status == "different" for r in changed):
        return outcome
    final = theirs if sch is None else sch.schedule.mod["main"]
    if all(r.status in ("equal", "equal at sizes") for r in changed) and _is_plain(back.func):
        _built(outcome, None if any(r.maps for r in changed) else back.func, final, seed, say)
    return outcome


def _is_plain(func: PrimFunc) -> bool:
    """Whether compact arrays are all that it takes, and all that it calls has one meaning."""
    calls = {n.op for n in walk(func.body) if isinstance(n, Call)}
    if symbols(func) or len(func.params) != len(func.buffers):
        return False
    return not any(b.strides or b.dtype.lanes > 1 for b in func.buffers) and calls <= set(AGREED)


def _loses_types(func: PrimFunc) -> bool:
    """Whether a type is lost in TVM: ``T.undef`` and ``T.clz`` are of ``int32`` there, whatever one asks for."""
    return any(
        n.type is not INT32 for n in walk(func.body) if isinstance(n, Undef) or (isinstance(n, Call) and n.op == "clz")
    )


def _round_trip(outcome: TvmOutcome, ours: PrimFunc, theirs: Any) -> Printed | None:
    """The program as TVM prints it, read back, is the program."""
    back = read(theirs, ours.name)
    if back.func is None and not _reads_itself(theirs):
        outcome.bugs.append(("printing", f"{back.problem}\n{back.text}"))
        return None
    if back.func is None:
        outcome.wrong.append(("not-read-back", _reason(back.problem), f"{back.problem}\n{script(ours)}\n{back.text}"))
        return None
    report = judge("round trip", Printed(ours.name, script(ours), ours), back, LIMITS)
    outcome.count("round trips")
    _hold(outcome, report, "round trip", ours, back.func)
    if report.status != "different":
        return back
    if _folds(ours):
        outcome.bugs.append(("reading", report.explain()))
    else:
        outcome.wrong.append(("round-trip-differs", "reading", report.explain()))
    return None


def _folds(ours: PrimFunc) -> bool:
    """Whether a program that does not come back as it was does so in words that TVM's operators do not fold.

    The inputs that showed the difference are tried again; with the words, nothing may show one.  What TVM forbids, a
    loop's variable inside of a block, may be what it folded away.
    """
    text = in_words(script(ours))
    try:
        theirs = tvm.script.from_source(HEAD + text[text.index("@T.prim_func") :], check_well_formed=False)
    except Exception:
        return False
    back = read(theirs, ours.name)
    same = judge("round trip in words", Printed(ours.name, script(ours), ours), back, LIMITS)
    return back.func is not None and same.status != "different"


def _reads_itself(theirs: Any) -> bool:
    """Whether TVM reads what it prints."""
    try:
        tvm.script.from_source(theirs.script())
    except Exception:
        return False
    return True


def _reason(problem: str) -> str:
    """The kind of thing that was not read."""
    return problem.partition("(line")[0].strip()[:80]


def _scheduled(
    outcome: TvmOutcome, theirs: Any, plans: Sequence[Plan], seed: int, say: Say
) -> tuple[ValidatedSchedule, list[StepReport]]:
    """Steps of TVM's, each judged; up to the first that is wrong."""
    say("tvm: Schedule")
    sch = ValidatedSchedule(theirs, on_different="collect", limits=LIMITS)
    changed: list[StepReport] = []
    for plan in plans:
        count = len(sch.reports)
        say(f"tvm: {plan.primitive}")
        try:
            apply(sch, plan)
        except Exception as refused:
            if _is_ours(refused):
                raise
            outcome.count("refused by TVM")
            continue
        outcome.count("accepted by TVM")
        outcome.covered.append(("TVM primitive", plan.primitive))
        for report in sch.reports[count:]:
            say("validate: a step")
            outcome.covered.append(("status", report.status))
            changed.append(report)
            _step(outcome, report, plan.primitive, seed, say)
        if any(r.status == "different" for r in changed):
            break
    return sch, changed


def _is_ours(problem: BaseException) -> bool:
    """Whether an exception came out of this package, and not out of TVM, whose C++ raises ``KeyError`` and the like.

    The choice of arguments (``tvm_steps``) may fail for want of a loop or a block: that is a refusal, too.
    """
    tb = problem.__traceback__
    files = []
    while tb is not None:
        files.append(tb.tb_frame.f_code.co_filename)
        tb = tb.tb_next
    chosen = files[-1].endswith("tvm_steps.py") and isinstance(problem, (IndexError, ValueError))
    return "verified_tir" in files[-1] and not chosen


def _step(outcome: TvmOutcome, report: StepReport, where: str, seed: int, say: Say) -> None:
    if "fault of its own" in report.text or "by a fault" in report.text:
        outcome.wrong.append(("interop-failed", where, report.explain()))
        return
    if report.status == "different":
        _different(outcome, report, where, seed, say)
    elif report.before and report.after:
        before = read_back(report.before)
        if before is not None:
            _hold(outcome, report, where, before, None)


def _hold(outcome: TvmOutcome, report: StepReport, where: str, before: PrimFunc, after: PrimFunc | None) -> None:
    """The validator's word against the interpreter."""
    later = after if after is not None else read_back(report.after)
    if later is None:
        return
    before, later = closed(before, later)
    for one in report.reports:
        try:
            check_verdict(before, later, one, one.sizes, report.maps, trials=TRIALS)
        except WrongVerdict as wrong:
            outcome.wrong.append((wrong.kind, where, f"{wrong.message}\n{report.explain()}"))
    if report.status == "equal" and not report.reports and not report.maps:  # the same program, it says
        sizes = sizes_of(before, ())
        arguments = random_arguments(before, sizes, 0, 1)
        first, second = ran(before, arguments), ran(later, moved(before, later, arguments, sizes, {})[0])
        if first.outcome is not None and second.outcome is not None:
            for old, new in zip(before.buffers, later.buffers, strict=True):
                one_, two = first.outcome.arrays[old.name], second.outcome.arrays[new.name]
                known = first.outcome.defined[old.name]
                if one_.shape == two.shape and bool((known & ~same_bits(one_, two)).any()):
                    outcome.wrong.append(("equal-but-differs", where, report.explain()))


def _different(outcome: TvmOutcome, report: StepReport, where: str, seed: int, say: Say) -> None:
    """A difference: TVM's if its machine code shows it too, or the interpreter that what is read is undefined."""
    _hold(outcome, report, where, parse_func(report.before), None)
    witness = report.witness
    if witness is None:
        outcome.wrong.append(("different-without-witness", where, report.explain()))
        return
    free = set(witness.arguments) - {b.name for b in parse_func(report.before).buffers}
    if witness.inputs or witness.after is None or not witness.element or free:
        outcome.bugs.append((where, f"undefined: {report.text}"))
        return
    say(f"tvm: compiling what {where} made")
    one = compiled(report.before, witness.arguments)
    two = compiled(report.after, witness.arguments_after)
    if one is None or two is None:
        outcome.bugs.append((where, f"not compiled: {report.text}"))
        return
    name, _, index = witness.element.partition("[")
    if not index or name.startswith("the padding"):
        outcome.bugs.append((where, report.text))
        return
    claimed, _, lane = index.partition("]")
    if lane:
        outcome.count("a lane of a vector, which is not looked at in machine code")
        return
    element = tuple(int(k) for k in claimed.split(",") if k)  # none of a single number
    before = _at(one, name, report.before, element)
    place = element
    moved = report.maps.get(name)
    if moved is not None and moved.index_map is not None:
        place = tuple(int(np.asarray(k).reshape(-1)[0]) for k in moved.index_map(*[np.array([i]) for i in element]))
    now = _at(two, name, report.before, place)
    if may_overflow(witness.arguments):
        outcome.count("signed overflow, which TVM leaves to LLVM")
    elif _same(now, witness.after) or not _same(before, now):
        outcome.bugs.append((where, report.text))  # of a pass, that is so of both: the pass is part of every build
    elif _same(before, witness.before):
        shown = f"TVM's machine code has {now!r} for both programs\n{report.explain()}"
        outcome.wrong.append(("different-but-machine-agrees", where, shown))
    else:
        outcome.count("the machine has a third value")


def _same(one: Any, other: Any) -> bool:
    kind = np.asarray(one).dtype
    return bool(same_bits(np.array([one], kind), np.array([other], kind))[0])


def _at(arrays: Mapping[str, Any], name: str, before: str, element: tuple[int, ...]) -> Any:
    """An element of a parameter, which is found by its position: primitives may rename it."""
    names = [b.name for b in parse_func(before).buffers]
    return list(arrays.values())[names.index(name)][element]


def _built(outcome: TvmOutcome, before: PrimFunc | None, final: Any, seed: int, say: Say) -> None:
    """The passes of a build, each judged; and the machine code against the interpreter.

    :param before: the program that the interpreter runs; ``None`` if the machine's parameters are in another layout.
    """
    instrument = ValidatingInstrument(on_different="collect", limits=LIMITS, show_table=False)
    say("tvm: compiling")
    try:
        with tvm.transform.PassContext(instruments=[instrument]):
            code = tvm.compile(tvm.IRModule({"f": final.with_attr("global_symbol", "f")}), target="llvm")
    except Exception:
        outcome.count("not compiled by TVM")
        return
    outcome.count("compiled")
    for report in instrument.reports:
        if report.status not in ("unchanged", "composed", "not validated"):
            say(f"validate: {report.step}")
            outcome.covered.append(("TVM pass", report.step))
            outcome.covered.append(("status", report.status))
            _step(outcome, report, report.step, seed, say)
    if before is not None:
        run_machine(outcome, code, before, instrument.reports, seed, say)
