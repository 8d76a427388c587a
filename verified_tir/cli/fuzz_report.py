"""What is said about a campaign: a table of rates, coverage, findings; or all of it as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from verified_tir import __version__
from verified_tir.cli.tables import aligned
from verified_tir.durations import clock
from verified_tir.fuzz.campaign import Campaign
from verified_tir.fuzz.findings import Finding
from verified_tir.fuzz.reports import Tally
from verified_tir.fuzz.target import Target

SCHEMA: Final = 1
COLUMNS: Final = ("programs", "accepted", "refused", "confirmed", "undecided")
"""What every target may count, and a column shows."""
_WIDTH: Final = 110


def rate(tally: Tally) -> float:
    """Programs (cases, if none are counted) a minute of one worker."""
    return 60 * (tally.totals["programs"] or tally.cases) / tally.seconds if tally.seconds else 0.0


def header() -> list[str]:
    """The heads of the table's columns."""
    return ["target", "cases", *COLUMNS, "a minute", "failed"]


def row(name: str, tally: Tally) -> list[str]:
    """A row of the table."""
    counts = [f"{tally.totals[column]:,}" if tally.totals[column] else "" for column in COLUMNS]
    return [name, f"{tally.cases:,}", *counts, f"{rate(tally):,.0f}", f"{tally.failed or ''}"]


def total(tallies: Iterable[Tally], seconds: float) -> list[str]:
    """The last row: all targets, and their rate by the clock on the wall."""
    both = _sum(tallies)
    programs = both.totals["programs"] or both.cases
    counts = [f"{both.totals[column]:,}" if both.totals[column] else "" for column in COLUMNS]
    fast = 60 * programs / seconds if seconds > 0 else 0.0
    return ["all", f"{both.cases:,}", *counts, f"{fast:,.0f}", f"{both.failed or ''}"]


Universe = Mapping[str, Sequence[tuple[str, str]]]
"""What each target can cover: groups and names."""


def universe(targets: Mapping[str, Target[Any]]) -> Universe:
    """Of some targets."""
    return {name: tuple(target.universe()) for name, target in targets.items()}


def coverage(everything: Universe, tallies: Mapping[str, Tally]) -> dict[str, tuple[set[str], set[str]]]:
    """For each group of things that can be covered: which were, by any of the targets, of all.

    Passes apply rules, too, though only the target of schedules says that there are rules.
    """
    found: dict[str, tuple[set[str], set[str]]] = {}
    reached = {what for name in everything if name in tallies for what, times in tallies[name].covered.items() if times}
    for things in everything.values():
        for group, thing in things:
            there, every = found.setdefault(group, (set(), set()))
            every.add(thing)
            if (group, thing) in reached:
                there.add(thing)
    return found


def coverage_line(everything: Universe, tallies: Mapping[str, Tally], only: Sequence[str] = ()) -> str:
    """``primitive 40 of 68, rule 20 of 24``; some groups only, if they are named."""
    found = coverage(everything, tallies)
    return ", ".join(
        f"{group} {len(there)} of {len(every)}" for group, (there, every) in found.items() if not only or group in only
    )


def summary(campaign: Campaign, targets: Mapping[str, Target[Any]], *, brief: bool) -> str:
    """Several lines for a person, at the end."""
    found = list(campaign.findings)
    last = _last_line(campaign, found)
    if brief:
        return last
    state = campaign.state
    names = list(targets)
    ran = [campaign.tally(name) for name in names]
    rows = [header(), *(row(name, campaign.tally(name)) for name in names)]
    rows += [total(ran, campaign.worked)] if len(names) > 1 else []
    parts = [*aligned(rows, numbers=True), *_others(names, ran)]
    everything = universe(targets)
    if covered := coverage_line(everything, state.tallies):
        parts.append(f"coverage, all runs: {covered}")
        parts += _never(everything, state.tallies)
    if campaign.reporter.replayed:
        parts.append(f"replayed from the database: {campaign.reporter.replayed}")
    if campaign.reporter.slow:
        parts.append(f"slow, but not when run again: {campaign.reporter.slow}")
    every = _sum(state.tally(name) for name in state.tallies)
    runs = f"{state.runs} run" + ("" if state.runs == 1 else "s")
    parts.append(
        f"all runs: {runs}, {clock(state.seconds)}, {every.cases:,} cases, {every.totals['programs']:,} programs, "
        f"{len(state.findings)} findings"
    )
    parts += [finding_line(finding) for finding in found]
    return "\n".join(["", *parts, last])


def _last_line(campaign: Campaign, found: Sequence[Finding]) -> str:
    how = "" if campaign.ending == "done" else "interrupted; the same command goes on. "
    new = sum(not finding.known for finding in found)
    known = f" ({len(found) - new} known)" if new < len(found) else ""
    unchecked = campaign.unchecked
    many = f"{len(found)} finding{'' if len(found) == 1 else 's'}{known}"
    what = many if found else "no findings" if len(unchecked) < len(campaign.options.targets) else "nothing was checked"
    of = f"; no case was checked of {', '.join(unchecked)}" if unchecked else ""
    return f"{how}{what} in {clock(campaign.elapsed)}, seed {campaign.run.seed}{of}"


def finding_line(finding: Finding) -> str:
    """One finding, and where it is."""
    words = []
    words += ["flaky"] if finding.flaky else []
    words += ["not made smaller"] if not finding.shrunk and not finding.known and not finding.flaky else []
    words += ["its file did not fail"] if finding.reproduced is False else []
    notes = f" [{', '.join(words)}]" if words else ""
    place = f"known: {finding.known}" if finding.known else finding.file
    return f"{finding.key}, {finding.times}×{notes}\n    {place}"


def _others(names: Sequence[str], tallies: Sequence[Tally]) -> list[str]:
    """What targets count beside the columns."""
    lines = []
    for name, tally in zip(names, tallies, strict=True):
        if also := {k: n for k, n in tally.totals.items() if k not in COLUMNS}:
            lines.append(f"{name}: " + ", ".join(f"{n:,} {k}" for k, n in sorted(also.items())))
    return lines


def _never(everything: Universe, tallies: Mapping[str, Tally]) -> list[str]:
    lines = []
    for group, (there, every) in coverage(everything, tallies).items():
        if missing := sorted(every - there):
            lines.append(_shortened(f"never reached, {group}: {', '.join(missing)}"))
    return lines


def _shortened(text: str) -> str:
    if len(text) <= 4 * _WIDTH:
        return text
    kept = text[: 4 * _WIDTH].rpartition(", ")[0]
    return f"{kept}, … ({text.count(',') - kept.count(',')} more; all of them with --json)"


def _sum(tallies: Iterable[Tally]) -> Tally:
    both = Tally()
    for tally in tallies:
        both.add(tally)
    return both


# -- JSON -------------------------------------------------------------------------------------------------------------


def fields(
    campaign: Campaign, targets: Mapping[str, Target[Any]], absent: Mapping[str, str], code: int
) -> dict[str, Any]:
    """A campaign as JSON."""
    state = campaign.state
    return {
        "schema": SCHEMA,
        "version": __version__,
        "command": campaign.options.command,
        "seed": campaign.run.seed,
        "jobs": campaign.options.jobs,
        "seconds": round(campaign.elapsed, 3),
        "ended": campaign.ending == "done",
        "resumed": campaign.goes_on,
        "targets": [
            {
                "name": name,
                **_tally_fields(target, campaign.tally(name)),
                "all_runs": _tally_fields(target, state.tally(name)),
            }
            for name, target in targets.items()
        ],
        "not_run": [{"name": name, "reason": reason} for name, reason in absent.items()],
        "findings": [_finding_fields(finding) for finding in campaign.findings],
        "unchecked": campaign.unchecked,
        "replayed": campaign.reporter.replayed,
        "slow": campaign.reporter.slow,
        "runs": state.runs,
        "all_seconds": round(state.seconds, 3),
        "exit_code": code,
    }


def _tally_fields(target: Target[Any], tally: Tally) -> dict[str, Any]:
    covered: dict[str, dict[str, int]] = {}
    for (group, name), count in sorted(tally.covered.items()):
        covered.setdefault(group, {})[name] = count
    never: dict[str, list[str]] = {}
    for group, name in target.universe():
        if not tally.covered[group, name]:
            never.setdefault(group, []).append(name)
    return {
        "cases": tally.cases,
        "seconds": round(tally.seconds, 3),
        "failed": tally.failed,
        "programs_per_minute": round(rate(tally), 1),
        "totals": dict(sorted(Counter(tally.totals).items())),
        "covered": covered,
        "never_reached": never,
    }


def _finding_fields(finding: Finding) -> dict[str, Any]:
    return {
        "target": finding.key.target,
        "kind": finding.key.kind,
        "where": finding.key.where,
        "message": finding.message,
        "times": finding.times,
        "file": finding.known or finding.file,
        "known": bool(finding.known),
        "shrunk": finding.shrunk,
        "flaky": finding.flaky,
        "reproduced": finding.reproduced,
        "seed": finding.seed,
        "round": finding.turn,
        "case": finding.index,
        "found": finding.found,
    }
