"""Assertions about schedules, for tests: that a theorem is true, that a refusal is right, that a certificate re-checks.

Each raises an ``AssertionError`` whose message shows the programs and the values, as numpy's do.  They are independent
of what they judge: the interpreter runs programs, and :mod:`~verified_tir.testing.reference` compares results.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from verified_tir.ir.script import script
from verified_tir.semantics.interpreter import Outcome, StepLimit, Stopped, TooLarge, UndefinedBehaviour, Unsupported
from verified_tir.semantics.interpreter.outcome import same_bits
from verified_tir.testing.arguments import laid_out
from verified_tir.testing.arrays import strided_copy
from verified_tir.testing.reference import (
    STEPS,
    Claim,
    End,
    Given,
    Masks,
    NotCompared,
    disagreement,
    ended,
    moved_arguments,
    padded,
    sizes_of,
    steps_for,
)

if TYPE_CHECKING:
    from verified_tir.ir.func import PrimFunc
    from verified_tir.kernel.theorem import Refines
    from verified_tir.schedule.errors import ScheduleError
    from verified_tir.schedule.schedule import Schedule


def assert_refines(
    proved: Schedule | Refines,
    arguments: Mapping[str, Any],
    *,
    defined: Masks | None = None,
    machine_code: bool = True,
) -> None:
    """What was proved is so on these arguments.

    The program as written (of a schedule: as it was written, blocks and all) and the program after are run by the
    interpreter.  Results must have the same bits, read through the layout changes; padding must hold what was declared;
    no licence may be broken.  Of reductions that may be rounded in another order only that is demanded which every
    order gives.  Then the program after is compiled, and must leave what the interpreter leaves, bit for bit.

    :param arguments: by name, in the layouts of the program as written.  They are not modified.
    :param defined: by name, which elements hold a value, for theorems about more than definite arguments.
    :param machine_code: whether to compile it, too.
    :raises AssertionError: if something differs.
    :raises ValueError: if the program as written has no meaning on the arguments, or stops: then nothing is claimed.
        Or if the program after takes too many steps for the interpreter: then nothing was compared.
    """
    theorem, written = _theorem(proved)
    claim = Claim.of(theorem)
    first = ended(theorem.before, Given(arguments, defined or {}, {}))
    if not isinstance(first, Outcome):
        raise ValueError(f"{theorem.before.name} leaves no results on these arguments: {type(first).__name__}: {first}")
    as_written = ended(written, Given(arguments, defined or {}, {}), steps=steps_for(first))
    if isinstance(as_written, (StepLimit, TooLarge)):
        raise NotCompared(f"{written.name} cannot be compared on these arguments, as written: {as_written}")
    problem = _differs(as_written, first) or disagreement(claim, arguments, defined=defined, first=first, strict=True)
    if problem is not None:
        raise AssertionError(report("the program after is no refinement", problem, claim, arguments))
    if machine_code:
        problem = machine_code_problem(proved, arguments, steps=steps_for(first))
        if problem is not None:
            raise AssertionError(report("machine code differs from the interpreter", problem, claim, arguments))


def _theorem(proved: Schedule | Refines) -> tuple[Refines, PrimFunc]:
    from verified_tir.kernel.theorem import Refines

    if isinstance(proved, Refines):
        return proved, proved.before
    return proved.theorem, proved.steps[0].before


def _differs(one: Outcome | Stopped, other: Outcome) -> str | None:
    """How the program as written differs from its expansion; ``None`` if it does not."""
    if not isinstance(one, Outcome):
        return f"as written: {type(one).__name__}: {one}"
    for name, array in one.arrays.items():
        same = same_bits(array, other.arrays[name]) | ~one.defined[name]
        if not (np.array_equal(one.defined[name], other.defined[name]) and np.all(same)):
            return f"{name} is {array.tolist()} as written, {other.arrays[name].tolist()} with its blocks expanded"
    return None


def machine_code_problem(proved: Schedule | Refines, arguments: Mapping[str, Any], *, steps: int = STEPS) -> str | None:
    """Where compiled code leaves something else than the interpreter; ``None`` if nowhere.

    A program that has no machine code here (opaque calls, for example) has none that differs.  One of which it could
    not be proved that it is free of races was not compiled for that reason, which is a problem.

    :param arguments: in the layouts of the program as written.
    :param steps: stores and iterations of the interpreter, at most; where it takes more, nothing is compared.
    """
    from verified_tir.codegen.build import build
    from verified_tir.codegen.errors import CodegenError, MayRace

    theorem, _ = _theorem(proved)
    claim = Claim.of(theorem)
    sizes = sizes_of(theorem.before, arguments)
    moved = [m for m in moved_arguments(claim, Given(arguments, {}, {}), sizes) if isinstance(m, Given)]
    ends = [(m, e) for m in moved if isinstance(e := ended(theorem.after, m, steps=steps), Outcome)]
    if not ends:
        return None
    try:
        function = build(proved, threads=1, cache=False)
    except MayRace as refused:
        return str(refused)
    except CodegenError:
        return None
    for given, expected in ends:
        passed = {name: strided_copy(v) if isinstance(v, np.ndarray) else v for name, v in given.args.items()}
        passed |= {b.name: strided_copy(laid_out(given.args[b.name], b, sizes)) for b in theorem.after.buffers}
        wanted = {p.name for p in theorem.after.params if theorem.after.buffer_of(p) is None}
        wanted |= {b.name for b in theorem.after.buffers}
        function(**{name: v for name, v in passed.items() if name in wanted})
        for name, array in expected.arrays.items():
            wrong = expected.defined[name] & ~same_bits(array, passed[name])
            for where in np.argwhere(wrong):
                k = tuple(int(x) for x in where)
                return f"{name}{list(k)} is {passed[name][k]}, by the interpreter {array[k]}"
    return None


def assert_confirmed(refusal: ScheduleError) -> bool:
    """A refusal that is marked confirmed is right: its counterexample, run again, shows what it says.

    The two programs are run by the interpreter on the arguments that the refusal carries.  They must leave different
    results; or the second one alone must have undefined behaviour or break a licence; or, where the program itself was
    refused, that one must have undefined behaviour.

    :return: whether it was run.  Arguments too large for arrays are not.
    :raises AssertionError: if the programs agree.
    :raises ValueError: if the refusal is not confirmed: then it says nothing that could be looked at.
    """
    from verified_tir.schedule.errors import Refuted

    if not (isinstance(refusal, Refuted) and refusal.confirmed and refusal.replay and refusal.programs):
        raise ValueError(f"{refusal.step} was not refused with a confirmed counterexample")
    programs, arguments = refusal.programs, refusal.replay.arguments
    if any(b.name not in arguments for b in programs.before.buffers):
        return False
    claim = Claim(programs.before, programs.after, programs.maps, programs.paddings_after,
                  paddings_before=programs.paddings_before)  # fmt: skip
    sizes = sizes_of(claim.before, arguments)
    first = ended(claim.before, padded(claim.before, claim.paddings_before, dict(arguments), {}, sizes))
    if isinstance(first, (StepLimit, Unsupported)):
        return False
    undefined = isinstance(first, UndefinedBehaviour)
    if programs.question == "meaning":
        agrees = not undefined or getattr(first, "kind", "") == "assume"
    else:
        agrees = undefined or disagreement(claim, arguments, first=first) is None
    if not agrees:
        return True
    if not undefined and any(isinstance(end, StepLimit) for end in _ends_after(claim, arguments)):
        return False
    said = f"it says: {refusal.replay.message}; before: {'results' if isinstance(first, Outcome) else first}"
    raise AssertionError(report(f"{refusal.step}: the counterexample shows no difference", said, claim, arguments))


def _ends_after(claim: Claim, arguments: Mapping[str, Any]) -> Iterator[End]:
    sizes = sizes_of(claim.before, arguments)
    given = padded(claim.before, claim.paddings_before, dict(arguments), {}, sizes)
    for moved in moved_arguments(claim, given, sizes):
        if isinstance(moved, Given):
            yield ended(claim.after, moved)


@contextmanager
def refusals_are_right(schedule: Schedule | None = None) -> Iterator[None]:
    """In the block a step may be refused; but if the refusal says that it is confirmed, that must be so.

    :param schedule: must be what it was before, if a step of it is refused.
    :raises AssertionError: as :func:`assert_confirmed`.
    """
    from verified_tir.schedule.errors import Refuted, ScheduleError

    before = None if schedule is None else schedule.theorem
    try:
        yield
    except Refuted as refusal:
        _assert_unchanged(schedule, before, refusal)
        if refusal.confirmed:
            assert_confirmed(refusal)
    except ScheduleError as refusal:
        _assert_unchanged(schedule, before, refusal)


def _assert_unchanged(schedule: Schedule | None, before: Refines | None, refusal: ScheduleError) -> None:
    if schedule is not None and schedule.theorem is not before:
        raise AssertionError(f"{refusal.step} was refused, and changed the program:\n{schedule.script()}")


def assert_certificate_rechecks(schedule: Schedule) -> None:
    """The schedule's certificate, written to a folder, passes the check of certificates, as ``vtir check --regenerate``
    does it.

    :raises AssertionError: if the check finds something, or does not come to its end; or if the noted steps lead
        elsewhere, or could not be noted.
    """
    from verified_tir.certificate import store
    from verified_tir.certificate.check import check
    from verified_tir.certificate.regenerate import regenerate
    from verified_tir.certificate.write import Origin, Written

    written = Written()
    written.add("schedule", schedule, Origin("schedule"))
    with tempfile.TemporaryDirectory() as folder:
        store.save(folder, written.certificates, written.queries)
        checked = check(folder)
        (again,) = regenerate(folder)
    found = [str(f) for f in checked.all_findings]
    found += [f"{verdict}: {c.claim}" for verdict in ("false", "undecided") for c in checked.not_proved(verdict)]
    found += [f"undecided: it was not computed again: {why}" for why in checked.not_recomputed.values()]
    found += [f"it is regenerated otherwise: {f}" for f in again.findings]
    found += [f"it cannot be regenerated: {again.impossible}"] if again.impossible else []
    if found or checked.exit_code != 0:
        steps = [str(step) for step in schedule.steps]
        raise AssertionError("\n".join(["the certificate does not pass its check", *found, *steps]))


def report(what: str, problem: str, claim: Claim, arguments: Mapping[str, Any]) -> str:
    """What is wrong, and with which programs, arguments and layouts, for a reader."""
    shown = [f"{k} = {v.tolist() if isinstance(v, np.ndarray) else v}" for k, v in arguments.items()]
    parts = [f"{what}: {problem}", "", "before:", script(claim.before), "after:", script(claim.after), *shown]
    if claim.maps:
        parts.append("layouts: " + ", ".join(f"{m.before.name}{list(map(script, m.outputs))}" for m in claim.maps))
    return "\n".join(parts)
