"""The report as workflow commands of GitHub Actions, which become annotations of the changed lines.

Nothing else is printed but the last line of the report: a line of a program or of a message that looks like a command
would be obeyed.
"""

from __future__ import annotations

from verified_tir.report.model import Report
from verified_tir.report.problems import Problem, problems_of


def to_github(report: Report) -> str:
    """A line for each problem."""
    lines = [_command(p) for p in problems_of(report)]
    if report.nothing or report.interrupted:
        lines.append(f"::error title=vtir verify::{_data(report.nothing or 'interrupted')}")
    return "".join(f"{line}\n" for line in lines)


def _command(p: Problem) -> str:
    word = "warning" if p.weight == "warning" else "error"
    fields = {"file": p.at.file}
    if p.at.line:
        fields["line"] = str(p.at.line)
    if p.at.column is not None:
        fields["col"] = str(p.at.column)
    fields["title"] = f"{p.title} ({p.rule})"
    return f"::{word} {','.join(f'{k}={_property(v)}' for k, v in fields.items())}::{_data(p.details)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
