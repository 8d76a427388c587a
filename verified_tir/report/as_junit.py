"""The report as JUnit XML, which most continuous-integration servers show as a table of tests.

A file is a test suite, a schedule a test case.  A schedule that did not end as expected is a failure; one that raised
an exception, and a file that could not be used, is an error.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from verified_tir.report.model import FileReport, Report, ScheduleReport
from verified_tir.report.problems import Problem, problem_of, problem_of_file

_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not allow, not even escaped."""


def to_junit(report: Report) -> str:
    """The report as the text of an XML document."""
    root = ElementTree.Element("testsuites", name="vtir verify", time=_seconds(report.seconds))
    for file in report.files:
        _suite(root, file)
    if report.nothing or report.interrupted:
        suite = ElementTree.SubElement(root, "testsuite", name="vtir verify", time=_seconds(report.seconds))
        why = report.nothing or "interrupted"
        case = ElementTree.SubElement(suite, "testcase", classname="vtir", name="verify", time="0.000")
        _text(ElementTree.SubElement(case, "error", type="nothing-verified", message=_clean(why)), why)
    for suite in root:
        _count(suite)
    _count(root)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suite(root: ElementTree.Element, file: FileReport) -> None:
    suite = ElementTree.SubElement(root, "testsuite", name=_clean(file.file), time=_seconds(file.seconds))
    problem = problem_of_file(file)
    for s in file.schedules:
        _case(suite, file, s)
    if problem is not None and problem.weight == "error":
        _problem(_test_case(suite, file.file, "(the file)", problem.at.line, 0.0), problem)
    elif problem is not None:
        _text(ElementTree.SubElement(suite, "system-err"), problem.message)


def _case(suite: ElementTree.Element, file: FileReport, s: ScheduleReport) -> None:
    case = _test_case(suite, file.file, s.name, s.at.line, s.seconds)
    problem = problem_of(s)
    if problem is not None:
        _problem(case, problem)


def _test_case(suite: ElementTree.Element, file: str, name: str, line: int, seconds: float) -> ElementTree.Element:
    case = ElementTree.SubElement(suite, "testcase", classname=_clean(file), name=_clean(name), file=_clean(file))
    if line:
        case.set("line", str(line))
    case.set("time", _seconds(seconds))
    return case


def _problem(case: ElementTree.Element, p: Problem) -> None:
    found = ElementTree.SubElement(case, p.weight, type=p.rule, message=_clean(f"{p.title}: {p.message}"))
    place = str(p.at) if p.at.line else p.at.file
    _text(found, f"{place}\n\n{p.details}")


def _count(element: ElementTree.Element) -> None:
    for name, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error")):
        element.set(name, str(sum(1 for _ in element.iter(tag))))


def _text(element: ElementTree.Element, text: str) -> None:
    element.text = _clean(text)


def _clean(text: str) -> str:
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def _seconds(value: float) -> str:
    return f"{value:.3f}"
