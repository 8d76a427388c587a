"""The formats in which a report can be written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, assert_never, get_args

if TYPE_CHECKING:
    from verified_tir.report.model import Report

Format = Literal["text", "json", "junit", "sarif", "github"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)


def formatted(report: Report, form: Format, version: str) -> str:
    """A report as one document; nothing as text, which is written while the run goes on.

    :param version: that of the package.
    """
    match form:
        case "json":
            from verified_tir.report.as_json import to_json

            return to_json(report, version) + "\n"
        case "junit":
            from verified_tir.report.as_junit import to_junit

            return to_junit(report)
        case "sarif":
            from verified_tir.report.as_sarif import to_sarif

            return to_sarif(report, version) + "\n"
        case "github":
            from verified_tir.report.as_github import to_github

            return to_github(report)
        case "text":
            return ""
        case _:
            assert_never(form)
