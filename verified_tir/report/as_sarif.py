"""The report as SARIF 2.1.0, which code-scanning services and editors read.

Paths are relative to the folder in which ``vtir`` ran, which a reader calls ``%SRCROOT%``.
"""

from __future__ import annotations

import json
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

from verified_tir.report.model import Report, SourcePlace
from verified_tir.report.problems import Problem, meaning, problems_of

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def to_sarif(report: Report, version: str) -> str:
    """The report as a JSON text; ``version`` is that of the package."""
    problems = list(problems_of(report))
    rules = sorted({p.rule for p in problems})
    run = {
        "tool": {
            "driver": {"name": "vtir", "semanticVersion": version, "rules": [_rule(rule) for rule in rules]},
        },
        "invocations": [_invocation(report)],
        "columnKind": "unicodeCodePoints",
        "results": [_result(p, rules) for p in problems],
    }
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2, ensure_ascii=False)


def _invocation(report: Report) -> dict[str, Any]:
    """Whether the run itself went well: files that cannot be used are notifications, and results too."""
    why = report.nothing or ("interrupted" if report.interrupted else "")
    ran = {"executionSuccessful": not why and not report.bad_files, "exitCode": report.exit_code}
    notes = [{"level": "error", "message": {"text": why}}] if why else []
    return ran | ({"toolExecutionNotifications": notes} if notes else {})


def _rule(rule: str) -> dict[str, Any]:
    return {"id": rule, "shortDescription": {"text": meaning(rule)}}


def _result(p: Problem, rules: list[str]) -> dict[str, Any]:
    return {
        "ruleId": p.rule,
        "ruleIndex": rules.index(p.rule),
        "level": "warning" if p.weight == "warning" else "error",
        "message": {"text": f"{p.title}: {p.details}"},
        "locations": [{"physicalLocation": _location(p.at)}],
    }


def _location(at: SourcePlace) -> dict[str, Any]:
    path = PurePath(at.file)
    if path.is_absolute():
        found: dict[str, Any] = {"artifactLocation": {"uri": Path(path).as_uri()}}
    else:
        found = {"artifactLocation": {"uri": quote(path.as_posix()), "uriBaseId": "%SRCROOT%"}}
    if at.line:
        column = {} if at.column is None else {"startColumn": at.column}
        found["region"] = {"startLine": at.line, **column}
    return found
