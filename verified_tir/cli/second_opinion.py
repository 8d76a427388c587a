"""What the independent validator says of a schedule that was proved: ``vtir verify --validate``.

The kernel proved that the program as scheduled refines the program as written.  The validator is given the two programs
and how the parameters' layouts changed, nothing else, and executes both at given sizes.  If it finds a difference, one
of the two is wrong, and that is a bug in this tool.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from verified_tir.codegen.runtime_layout import Layouts
from verified_tir.ir.expr import FALSE, FloatImm, IntImm, Undef
from verified_tir.ir.script import script
from verified_tir.kernel.obligation import ParameterMap
from verified_tir.kernel.theorem import Refines
from verified_tir.schedule.index_eval import evaluate
from verified_tir.schedule.replay_inputs import symbols
from verified_tir.validate import Correspondence, Different, Equal, EqualOverReals, Padding, Report, validate

SIZES = (1, 2, 3, 7, 8, 17)
"""What every symbol is, in turns."""
MOST_OPERATIONS = 3_000_000


@final
@dataclass(frozen=True, slots=True)
class Opinion:
    """One sentence, and everything that is needed to look into a disagreement (empty if there is none)."""

    sentence: str
    disagreement: str = ""


class _NotAsked(Exception):
    """The relation of the two interfaces has no form that the validator takes."""


def second_opinion(theorem: Refines) -> Opinion:
    """The validator's verdict on the programs of a theorem."""
    before, after = theorem.before, theorem.after
    names = sorted({v.name for f in (before, after) for v in symbols(f) if v.dtype.is_int})
    reports: list[Report] = []
    try:
        for size in SIZES if names else (0,):
            sizes = dict.fromkeys(names, size)
            maps = _correspondences(theorem, sizes)
            reports.append(validate(before, after, sizes=sizes, maps=maps, most_operations=MOST_OPERATIONS))
            if isinstance(reports[-1].verdict, Different):
                return Opinion(f"THE VALIDATOR DISAGREES: {reports[-1].verdict}", _reproduce(theorem, reports[-1]))
    except _NotAsked as why:
        return Opinion(f"the validator was not asked: {why}")
    at = f" at {', '.join(names)} = {', '.join(map(str, SIZES))}" if names else ""
    for r in reports:
        if not isinstance(r.verdict, (Equal, EqualOverReals)):
            where = f" (at {', '.join(f'{n} = {v}' for n, v in r.sizes.items())})" if r.sizes else ""
            return Opinion(f"the validator did not decide: {r.verdict}{where}")
    worst = next((r for r in reports if isinstance(r.verdict, EqualOverReals)), reports[0])
    if isinstance(worst.verdict, EqualOverReals) and not theorem.reassociated:
        return Opinion(f"the validator sees sums in another order{at}", _reproduce(theorem, worst))
    return Opinion(f"the validator agrees: {worst.verdict}{at}")


def _correspondences(theorem: Refines, sizes: dict[str, int]) -> dict[str, Correspondence]:
    """How each parameter moved, all its layout changes composed.

    :raises _NotAsked: if padding holds more than one value.
    """
    values = {v: sizes[v.name] for f in (theorem.before, theorem.after) for v in symbols(f) if v.name in sizes}
    found = {}
    layouts = Layouts(theorem)
    for old in theorem.before.buffers:
        chain = layouts.chain(old.name)
        now = chain[-1].after if chain else old
        paddings = [p for p in theorem.paddings if p.buffer is now and p.predicate is not FALSE]
        kinds = {_padding(p.value) for p in paddings}
        if len(kinds) > 1:
            raise _NotAsked(f"the padding of {now.name} holds several values")
        if chain:
            found[old.name] = Correspondence(_composed(chain, values), next(iter(kinds), None))
    return found


def _composed(chain: Sequence[ParameterMap], values: dict[Any, int]) -> Callable[..., Sequence[Any]]:
    def index_map(*indices: Any) -> Sequence[Any]:
        current: Sequence[Any] = [np.asarray(i, np.int64) for i in indices]
        for m in chain:
            given = {**values, **dict(zip(m.inputs, current, strict=True))}
            current = [np.broadcast_to(x, np.shape(indices[0])) for x in evaluate(m.outputs, given)]
        return current

    return index_map


def _padding(value: object) -> Padding:
    match value:
        case None:
            return None
        case Undef():
            return "undef"
        case IntImm(value=number) | FloatImm(value=number):
            return number
    raise _NotAsked("the padding's value depends on where it stands")


def _reproduce(theorem: Refines, report: Report) -> str:
    """Both programs and the inputs."""
    lines = [
        "The kernel has proved this schedule, and the validator says otherwise. That is a bug in verified_tir; please",
        "report it with what follows.",
        f"verdict: {report.verdict}",
        f"sizes: {dict(report.sizes)}",
    ]
    if isinstance(report.verdict, Different):
        lines += [f"{name} = {value!r}" for name, value in report.verdict.arguments.items()]
    return "\n".join([*lines, "before:", script(theorem.before), "after:", script(theorem.after)])
