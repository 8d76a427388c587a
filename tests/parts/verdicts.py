"""Assertions about the validator: what it says of two programs is so.

    report = assert_verdict_holds(before, after, sizes={"n": 5})

``validate`` is asked, and its answer held against runs of the reference interpreter on arguments drawn here: *equal*
must be true on each of them, *different* must come with arguments on which the interpreter shows that difference, and a
licence that a run breaks must be among the findings.  *Unknown* is never wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from tests.parts.reference_runs import (
    MOST_STEPS,
    Arguments,
    Ended,
    Gap,
    Maps,
    gaps,
    moved,
    ran,
    random_arguments,
)
from verified_tir.ir.expr import Binary, Call, Cast, Expr, FloatImm, Load
from verified_tir.ir.find import local_buffers
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import For
from verified_tir.ir.visit import children, walk
from verified_tir.logic.solver import Solver
from verified_tir.semantics.interpreter import ArgumentError, Finding, Outcome
from verified_tir.validate import Different, Equal, EqualInPart, EqualOverReals, Report, Unknown, validate
from verified_tir.validate.threads import may_meet
from verified_tir.validate.verdict import Verdict

TRIALS: Final = 16
BUDGET: Final = 30_000
ENOUGH: Final = 20_000
"""Stores and iterations of all runs, after which no further arguments are tried."""
_LARGE: Final = float(1 << 20)  # sums and products of integers below are exact in float32, in any order
_CLOSE: Final = 1e-3


class WrongVerdict(AssertionError):
    """The validator said something that a run of the interpreter refutes.

    ``kind`` says what, in short: ``equal-but-differs``, ``different-unconfirmed``, ``vacuous-but-defined``,
    ``race-missed``, ``validator-failed``.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.message = message


def assert_verdict_holds(
    before: PrimFunc,
    after: PrimFunc,
    *,
    sizes: Mapping[str, int] | None = None,
    maps: Maps | None = None,
    trials: int = TRIALS,
    seed: int = 0,
    more: Sequence[Arguments] = (),
    budget: int = BUDGET,
    **limits: Any,
) -> Report:
    """Ask the validator about two programs, and the interpreter whether the answer is so.

    :param sizes: the values of all symbols and integer parameters, by name.
    :param maps: how parameters moved, by their names in ``before``.
    :param trials: how many arguments to try.
    :param more: arguments to try besides.
    :param budget: of Z3, for each question: what is too hard is left undecided.
    :param limits: further arguments of :func:`verified_tir.validate.validate`.
    :returns: the validator's report.
    :raises WrongVerdict: if a run contradicts the validator.
    """
    report = validate(before, after, sizes=sizes, maps=maps, solver=Solver(budget), **limits)
    check_verdict(before, after, report, sizes or {}, maps or {}, trials=trials, seed=seed, more=more)
    return report


def check_verdict(
    before: PrimFunc,
    after: PrimFunc,
    report: Report,
    sizes: Mapping[str, int],
    maps: Maps,
    *,
    trials: int = TRIALS,
    seed: int = 0,
    more: Sequence[Arguments] = (),
) -> None:
    """Hold a report against runs of the interpreter.

    :raises WrongVerdict: if one contradicts it.
    """
    verdict = report.verdict
    if isinstance(verdict, Different):
        _replay(before, after, verdict, sizes, maps, seed)
    if isinstance(verdict, Different | Unknown):
        return
    watched, spent = any(_is_licensed(f) for f in (before, after)), 0
    for number in range(trials + len(more)):
        if spent > ENOUGH:
            break
        try:
            drawn = number < trials
            arguments = random_arguments(before, sizes, seed, number) if drawn else more[number - trials]
            given, masks = moved(before, after, arguments, sizes, maps)
            first = ran(before, arguments, licences=watched)
            second = ran(after, given, masks, licences=watched)
        except (ArgumentError, ValueError, IndexError):  # the interfaces do not correspond
            return
        _licences(report, {"before": (before, first), "after": (after, second)})
        spent += sum(e.outcome.steps if e.outcome is not None else MOST_STEPS // 8 for e in (first, second))
        if first.outcome is None:
            continue
        if isinstance(verdict, Equal) and verdict.vacuous and not verdict.how and _writes(before):
            raise WrongVerdict("vacuous-but-defined", f"{verdict}; but this run of before ends well: {arguments}")
        _agree(before, after, verdict, first.outcome, second, arguments, maps)


def _is_licensed(func: PrimFunc) -> bool:
    return any(isinstance(n, For) and n.kind not in ("serial", "unrolled") for n in walk(func.body))


def _writes(func: PrimFunc) -> bool:
    """Whether there are elements to compare, so that a verdict counts some."""
    return bool(func.buffers)


def _agree(
    before: PrimFunc,
    after: PrimFunc,
    verdict: Verdict,
    first: Outcome,
    second: Ended,
    arguments: Arguments,
    maps: Maps,
) -> None:
    """An equality of any kind, held against a run on which *before* has a meaning."""
    if isinstance(verdict, EqualInPart) and (verdict.compared != verdict.total or second.outcome is None):
        return
    if second.why == "cut":
        return
    if second.outcome is None:
        raise WrongVerdict(
            "equal-but-differs", f"{verdict}; but after ends by {second.why} ({second.text}), with {arguments}"
        )
    loose = isinstance(verdict, EqualOverReals) or (isinstance(verdict, EqualInPart) and bool(verdict.which))
    for gap in gaps(before, after, first, second.outcome, maps):
        if loose and _rounded(gap, first, second.outcome, before, after):
            continue
        raise WrongVerdict("equal-but-differs", f"{verdict}; but {gap}, with {arguments}")


def _rounded(gap: Gap, first: Outcome, second: Outcome, before: PrimFunc, after: PrimFunc) -> bool:
    """Whether another order of sums may explain a difference.

    Sums and products of small integers are exact in every order; there it explains the sign of a zero, and nothing
    else.
    """
    if gap.after is None:
        return False
    exact = _is_exact(before) and _is_exact(after) and _is_small(first) and _is_small(second)
    if not isinstance(gap.before, float) and not hasattr(gap.before, "dtype"):  # an integer
        return not exact and (_floats_decide(before) or _floats_decide(after))
    one, two = float(gap.before), float(gap.after)  # type: ignore[arg-type]
    if not exact:
        return True
    return abs(one - two) <= _CLOSE * max(1.0, abs(one), abs(two))


def _floats_decide(func: PrimFunc) -> bool:
    """Whether something that is no float is computed from floats."""
    return any(
        isinstance(n, Expr) and not n.dtype.is_float and not isinstance(n, Load)
        and any(isinstance(e, Expr) and e.dtype.is_float for e in children(n))
        for n in walk(func.body)
    )  # fmt: skip


def _is_exact(func: PrimFunc) -> bool:
    """Whether float operations of the program on small integers are exact."""
    for node in walk(func.body):
        match node:
            case Call() | Binary(op="div") | Cast():
                return False
            case FloatImm(value=v) if v != int(v) if np.isfinite(v) else True:
                return False
            case _:
                continue
    return all(b.dtype.bits >= 32 for b in func.buffers if b.dtype.is_float)


def _is_small(outcome: Outcome) -> bool:
    with np.errstate(all="ignore"):
        floats = [a.astype(np.float64) for a in outcome.arrays.values() if a.dtype.kind in "fV"]
        return all(bool((np.abs(a) < _LARGE).all()) and bool((a == np.round(a)).all()) for a in floats)


def _of_their_own(func: PrimFunc, found: Finding) -> bool:
    """Whether threads meet in memory of which each has its own: the interpreter does not tell scopes apart."""
    tags = {n.thread for n in walk(func.body) if isinstance(n, For) and n.var is found.var}
    scopes = {b.scope for b in local_buffers(func.body) if b.name == found.buffer}
    return bool(scopes) and not any(may_meet(tag, scope, carried=False) for tag in tags for scope in scopes)


def _licences(report: Report, runs: Mapping[str, tuple[PrimFunc, Ended]]) -> None:
    """A licence that a run breaks is among the findings."""
    if isinstance(report.verdict, EqualInPart):
        return
    if isinstance(report.verdict, Equal) and report.verdict.vacuous:
        return
    for which, (func, ended) in runs.items():
        for found in ended.findings:
            if _of_their_own(func, found):
                continue
            said = [f for f in report.findings if f.startswith(f"{which}: ")]
            if not any(found.var.name in f or "threads" in f for f in said):
                raise WrongVerdict("race-missed", f"{which}: {found}; the validator said {list(report.findings)}")


# ---------------------------------------------------------------------------------------------------------- witness


def _replay(
    before: PrimFunc, after: PrimFunc, verdict: Different, sizes: Mapping[str, int], maps: Maps, seed: int
) -> None:
    """A witness shows what it says it shows."""

    def wrong(why: str) -> WrongVerdict:
        return WrongVerdict("different-unconfirmed", f"{verdict}; but {why}; arguments {dict(verdict.arguments)}")

    attempts = [dict(verdict.arguments)] if not verdict.inputs else _completed(before, verdict, sizes, seed)
    reasons: list[str] = []
    for arguments in attempts:
        given, masks = moved(before, after, arguments, sizes, maps)
        first, second = ran(before, arguments), ran(after, given, masks)
        if first.why == "cut":
            return
        if first.outcome is None:
            reasons.append(f"before ends by {first.why} ({first.text})")
        elif second.why == "cut" or (second.outcome is None and (not verdict.element or verdict.inputs)):
            return
        elif second.outcome is None:
            reasons.append(f"after ends by {second.why} ({second.text})")
        else:
            found = list(gaps(before, after, first.outcome, second.outcome, maps))
            if _shown(verdict, found):
                return
            reasons.append(f"runs show {'; '.join(map(str, found[:4])) or 'no difference'}")
    if not verdict.inputs or (reasons and not all(r.startswith("before ends") for r in reasons)):
        raise wrong(reasons[-1])


def _shown(verdict: Different, found: Sequence[Gap]) -> bool:
    """Whether the difference that is claimed is among those found."""
    name, _, index = verdict.element.partition("[")
    if not verdict.element:
        return False
    for gap in found:
        if gap.name != name.split(" lane ")[0] and not name.startswith("the padding"):
            continue
        where = ", ".join(map(str, gap.index))
        claimed, _, lane = index.partition("]")
        if name.startswith("the padding") or ", ".join(i for i in (claimed, lane.removeprefix(" lane ")) if i) == where:
            if verdict.inputs or (_equal(gap.before, verdict.before) and _equal(gap.after, verdict.after)):
                return True
    return False


def _equal(a: object, b: object) -> bool:
    if a is None or b is None:
        return a is b
    return bool(a == b) or (a != a and b != b)


def _completed(before: PrimFunc, verdict: Different, sizes: Mapping[str, int], seed: int) -> list[Arguments]:
    """Arguments with the elements that a witness in part gives, all others random."""
    found = []
    for number in range(8):
        arguments = random_arguments(before, sizes, seed, number)
        for name, value in verdict.arguments.items():
            if name in arguments:
                arguments[name] = value
        for name, elements in verdict.inputs.items():
            for index, element in elements.items():
                arguments[name][index] = element
        found.append(arguments)
    return found
