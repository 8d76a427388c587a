"""What ``vtir plan`` says: lines for people."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

from verified_tir.cli.tables import aligned
from verified_tir.durations import duration
from verified_tir.graph.report import PlanReport

FEW = 8
"""So many lines of one kind are shown unless all are asked for."""


def show(
    report: PlanReport,
    layouts: Sequence[str],
    written: Mapping[str, str],
    *,
    verbose: bool = False,
    quiet: bool = False,
) -> None:
    """Write the report to the standard output; ``quiet`` leaves the first and the last line."""
    out = Console(file=sys.stdout, highlight=False, markup=False, emoji=False, soft_wrap=True)
    frozen = ", ".join(f"{n} {op.removeprefix('nn.')}" for op, n in report.frozen.items()) or "none"
    wanted = f" ({', '.join(layouts)})" if layouts else ""
    out.print(f"{report.model}: {_count(report.nodes, 'node')}, of these frozen {frozen}{wanted}")
    if not quiet:
        for name, text in _lines(report):
            out.print(Text(f"  {name:<19}", style="dim").append(Text(text, style="default")))
        _rewrites(out, report, verbose=verbose)
        _constants(out, report, verbose=verbose)
        _problems(out, report, verbose=verbose)
        for what, path in written.items():
            out.print(f"  {what} written to {path}")
    left = _count(len(report.rewrites), "rewrite")
    out.print(
        f"{left} left, {_bytes(report.after)} moved ({_bytes(report.before)} around each frozen node alone); "
        f"{_count(report.obligations, 'obligation')} proved in {duration(sum(report.seconds.values()))}"
    )


def _lines(report: PlanReport) -> list[tuple[str, str]]:
    packed = sum(c.nbytes for c in report.constants)
    times = ", ".join(f"{name} {duration(seconds)}" for name, seconds in report.seconds.items())
    lifted = [] if report.lifted is None else [("rewrites lifted", f"out of {_count(report.lifted, 'program')}")]
    fused = [("rewrites fused", f"{report.fused}, each with the program beside it")] if report.fused else []
    return [
        *lifted,
        ("programs changed", f"of {_count(report.changed, 'node')}, {report.programs} different ones"),
        ("proved", f"{_count(report.obligations, 'obligation')} of {_count(report.steps, 'step')} of the kernel"),
        *fused,
        ("constants packed", f"{len(report.constants)} ({_bytes(packed)})"),
        ("time", times),
    ]


def _rewrites(out: Console, report: PlanReport, *, verbose: bool) -> None:
    if not report.rewrites:
        return
    out.print("  rewrites left", style="dim")
    shown = report.rewrites if verbose else report.rewrites[:FEW]
    rows = [(r.source, f"{_shape(r.shape)} to {_shape(r.to_shape)}", _bytes(r.moved), r.reason) for r in shown]
    for line, r in zip(aligned(rows), shown, strict=True):
        out.print(f"    {line}")
        if verbose:
            out.print(f"      {r.op} {r.index_map}".rstrip())
    _more(out, len(report.rewrites) - len(shown))


def _constants(out: Console, report: PlanReport, *, verbose: bool) -> None:
    if not verbose:
        return
    for c in report.constants:
        out.print(f"  packed: {c.value} as {c.result} by {c.index_map}")


def _problems(out: Console, report: PlanReport, *, verbose: bool) -> None:
    shown = report.problems if verbose else report.problems[:FEW]
    for why, nodes in shown:
        names = ", ".join(nodes[:3]) + (f" and {len(nodes) - 3} more" if len(nodes) > 3 else "")
        out.print(f"  a layout ends at {names}: {why}" if nodes else f"  {why}")
    _more(out, len(report.problems) - len(shown))


def _more(out: Console, n: int) -> None:
    if n > 0:
        out.print(f"  … and {n} more (--verbose)")


def _shape(shape: Sequence[int | str]) -> str:
    return "×".join(map(str, shape)) or "()"


def _bytes(n: int) -> str:
    return f"{n / 1e6:.1f} MB" if n >= 10**5 else f"{n:,} bytes"


def _count(n: int, word: str) -> str:
    return f"{n:,} {word}" if n == 1 else f"{n:,} {word}s"
