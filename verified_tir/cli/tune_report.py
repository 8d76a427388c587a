"""What ``vtir tune`` reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from verified_tir.durations import duration

if TYPE_CHECKING:
    from verified_tir.cli.tune import Outcome

SCHEMA: Final = 1
_REASONS: Final = 5
"""So many reasons of refusals are shown; the others are counted."""


def as_text(outcome: Outcome, *, quiet: bool) -> str:
    """The report for a person: what was tried, what is best, and the strategy with its decisions."""
    lines: list[str] = []
    if not quiet:
        lines += _tried(outcome)
        for choice, decision in outcome.taken:
            lines.append(f"  line {choice.site.line:<5} {choice.kind} {choice.shown(decision)}")
    if outcome.is_default:
        lines.append(f"nothing is surely faster than the default: {duration(outcome.default_seconds)}")
    else:
        lines.append(
            f"best: {outcome.ratio:.2f} times as fast as the default, {duration(outcome.seconds)} against "
            f"{duration(outcome.default_seconds)}"
        )
        if not quiet:
            lines += ["", outcome.function]
    return "\n".join(lines)


def _tried(outcome: Outcome) -> list[str]:
    counts = outcome.counts
    ends = "interrupted after " if outcome.interrupted else ""
    trials = "1 trial" if counts.tried == 1 else f"{counts.tried} trials"
    lines = [
        f"{ends}{trials}: {counts.measured} measured, {counts.refused.total()} refused, "
        f"{counts.repeated} decided as one before"
    ]
    for (code, reason), times in counts.refused.most_common(_REASONS):
        lines.append(f"  {times} × {reason}{f' [{code}]' if code else ''}")
    if (others := len(counts.refused) - _REASONS) > 0:
        lines.append(f"  and {others} other reasons")
    lines += [f"  DIFFERS: {difference}" for difference in counts.differs]
    if counts.queries:
        share = f"{counts.shared} of {counts.queries} questions ({100 * counts.shared / counts.queries:.0f} %)"
        lines.append(f"{share} had been answered before, for the same candidate or another")
    return lines


def as_json(outcome: Outcome) -> dict[str, Any]:
    """The report as plain values."""
    counts = outcome.counts
    return {
        "schema": SCHEMA,
        "trials": counts.tried,
        "measured": counts.measured,
        "repeated": counts.repeated,
        "refused": [{"times": n, "code": code, "reason": reason} for (code, reason), n in counts.refused.most_common()],
        "differs": counts.differs,
        "questions": {"asked": counts.queries, "answered_before": counts.shared},
        "interrupted": outcome.interrupted,
        "best": {
            "is_default": outcome.is_default,
            "ratio": round(outcome.ratio, 4),
            "seconds": outcome.seconds,
            "default_seconds": outcome.default_seconds,
            "decisions": [
                {"line": c.site.line, "kind": c.kind, "decision": d, "gives": c.shown(d)} for c, d in outcome.taken
            ],
            "trace": outcome.trace,
        },
    }
