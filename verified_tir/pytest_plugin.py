"""Schedules as tests of pytest.

Each schedule function is a test: those in test modules, as other tests, and those in files that match the patterns of
the option ``vtir_files``.  A test passes if its schedule ends as expected; what is shown otherwise is the report of
``vtir verify``.  The settings are those of ``[tool.vtir]``.

pytest loads this in every project.  So nothing else is imported before there is a schedule.  Guide:
docs/how-to/pytest.md.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, suppress
from fnmatch import fnmatch
from functools import partial
from itertools import chain, count
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, final

import pytest

if TYPE_CHECKING:
    from _pytest._code import ExceptionInfo

    from verified_tir.cli.discover import Found
    from verified_tir.cli.verify import Settings
    from verified_tir.report.model import ScheduleReport
    from verified_tir.schedule.registry import Program, ScheduleFunction
    from verified_tir.schedule.schedule import Schedule


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options ``vtir_files`` and ``--vtir-html``."""
    text = "Patterns of further files whose schedules are tests, such as schedules/*.py."
    parser.addini("vtir_files", text, type="args", default=[])
    group = parser.getgroup("vtir", "schedules of verified_tir")
    group.addoption("--vtir-html", metavar="DIR", help="Write a page about each schedule, as vtir explain --html does.")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A file that matches ``vtir_files``, unless pytest reads it as a test module anyway."""
    ini = parent.config.getini
    if file_path.suffix != ".py" or not _matches(file_path, ini("vtir_files")):
        return None
    if parent.session.isinitpath(file_path) or _matches(file_path, ini("python_files")):
        return None
    return ScheduleFile.from_parent(parent, path=file_path)


def pytest_pycollect_makeitem(collector: pytest.Collector, name: str, obj: object) -> list[pytest.Item] | None:
    """A schedule function in a test module; those that the module imports are tests of the module that makes them."""
    registry = sys.modules.get("verified_tir.schedule.registry")
    if registry is None or not isinstance(obj, registry.ScheduleFunction):
        return None
    module = _module_of(collector)
    if module is None or not any(obj is s for s in registry.made_in(module)):
        return []
    assert isinstance(collector, pytest.Module)
    return [_item(collector, name, obj)]


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """What a test module makes besides the schedules that its names stand for: in classes, in lists, under a name that
    stands for another one by now."""
    report = yield
    registry = sys.modules.get("verified_tir.schedule.registry")
    module = _module_of(collector) if registry is not None and report.passed else None
    if registry is not None and module is not None:
        assert isinstance(collector, pytest.Module)
        named = list(vars(module).values())
        taken = {item.name for item in report.result}
        for made in registry.made_in(module):
            if any(made is value for value in named):
                continue
            numbered = (f"{made.name}#{k}" for k in count(2))
            name = next(n for n in chain([made.name], numbered) if n not in taken)
            taken.add(name)
            report.result.append(_item(collector, name, made))
    return report


def _module_of(collector: pytest.Collector) -> ModuleType | None:
    """The test module that is collected; ``None`` for anything else, such as doctests, those of a module included."""
    doctest = sys.modules.get("_pytest.doctest")
    others = () if doctest is None else (doctest.DoctestModule, doctest.DoctestTextfile)
    if not isinstance(collector, pytest.Module) or isinstance(collector, others):
        return None
    with suppress(Exception):  # collectors of other plug-ins are called modules, too
        if isinstance(collector.obj, ModuleType):
            return collector.obj
    return None


def _item(collector: pytest.Module, name: str, made: ScheduleFunction) -> pytest.Item:
    return ScheduleItem.from_parent(collector, name=name, function=lambda: made, line=made.line)


@pytest.fixture
def vtir_schedule(pytestconfig: pytest.Config) -> Callable[[Program], Schedule]:
    """Begin a schedule of a program, as ``Schedule(program)`` does, with the budget of ``[tool.vtir]``."""

    def begin(program: Program) -> Schedule:
        from verified_tir.logic.solver import Solver
        from verified_tir.schedule.schedule import Schedule
        from verified_tir.schedule.verdicts import open_store

        return Schedule(program, solver=Solver(_settings(pytestconfig).budget, store=open_store()))

    return begin


@final
class ScheduleFile(pytest.File):
    """A file with schedules that is not a test module; it is executed as ``vtir verify`` does."""

    functions: dict[str, ScheduleFunction]
    """The schedules of the file by their names, while tests of it run."""

    def collect(self) -> Iterator[pytest.Item]:
        """One test for each schedule."""
        with ExitStack() as stack:
            lines = {name: f.line for name, f in self._load(stack).items()}
        for name, line in lines.items():
            yield ScheduleItem.from_parent(self, name=name, function=partial(self._function, name), line=line)

    def setup(self) -> None:
        """Execute the file, before the first of its tests that run in a row."""
        stack = ExitStack()
        self.functions = self._load(stack)
        self.addfinalizer(stack.close)

    def _function(self, name: str) -> ScheduleFunction:
        return self.functions[name]

    def _load(self, stack: ExitStack) -> dict[str, ScheduleFunction]:
        from verified_tir.cli.load import BadFileError, loaded
        from verified_tir.cli.verify import named

        try:
            return dict(named(stack.enter_context(loaded(self.path, _shown(self)))))
        except BadFileError as bad:
            raise self.CollectError(_error_text(bad)) from None


@final
class ScheduleItem(pytest.Item):
    """A schedule that is to end as expected."""

    def __init__(self, *, function: Callable[[], ScheduleFunction], line: int, **rest: Any) -> None:
        super().__init__(**rest)
        self._function = function
        self._line = line
        _settings(self.config)  # a mistake in them is an error of the collection

    def runtest(self) -> None:
        """Verify the schedule.

        :raises ScheduleFailed: if it did not end as expected.
        """
        from verified_tir.cli.discover import Found
        from verified_tir.cli.verify import Made, verify_schedule

        file: Found = Found(self.path, _shown(self), explicit=True)
        function, made = self._function(), Made()
        report = verify_schedule(self.name, function, file, _settings(self.config), made)
        folder = self.config.getoption("--vtir-html")
        if folder:
            from verified_tir.explain.page import page
            from verified_tir.explain.story import story

            target = self.config.invocation_params.dir / folder / f"{_file_name(self.nodeid)}.html"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(page(story(function, report, made.made, made.refused)), encoding="utf-8")
        if not report.outcome.as_expected:
            raise ScheduleFailed(report)

    def repr_failure(self, excinfo: ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What ``vtir verify`` says of the schedule."""
        if isinstance(excinfo.value, ScheduleFailed):
            return _report_text(excinfo.value.report)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the schedule is, with lines counted from 0."""
        return self.path, self._line - 1, self.name


@final
class ScheduleFailed(Exception):
    """A schedule did not end as expected."""

    def __init__(self, report: ScheduleReport) -> None:
        super().__init__(f"{report.name}: {report.outcome.value}")
        self.report = report


_SETTINGS = pytest.StashKey["Settings"]()


def _settings(config: pytest.Config) -> Settings:
    """How schedules of this run are verified.

    :raises pytest.Collector.CollectError: for a mistake in ``[tool.vtir]``.
    """
    found = config.stash.get(_SETTINGS, None)
    if found is None:
        from verified_tir.cli.second_opinion import THOROUGH, Asked
        from verified_tir.cli.settings import BadSettings, project_settings
        from verified_tir.cli.verify import Settings
        from verified_tir.logic.solver import INTEGER_BUDGET

        try:
            project = project_settings(config.rootpath)
        except BadSettings as mistake:
            raise pytest.Collector.CollectError(str(mistake)) from None
        operations = project.most_operations or (THOROUGH if project.validate else None)
        asked = Asked("never" if project.validate is False else "last", operations)
        pages = bool(config.getoption("--vtir-html"))
        budget = project.budget or INTEGER_BUDGET
        found = Settings(budget=budget, asked=asked, places=pages, expected="all" if pages else "nothing")
        config.stash[_SETTINGS] = found
    return found


def _matches(path: Path, patterns: list[str]) -> bool:
    """Whether a pattern matches the name, or, if it has a slash, the end of the path; as for ``python_files``."""
    return any(fnmatch(path.as_posix(), f"*/{p}") if "/" in p else fnmatch(path.name, p) for p in patterns)


def _shown(node: pytest.Item | pytest.Collector) -> str:
    root = node.config.rootpath
    return str(node.path.relative_to(root) if node.path.is_relative_to(root) else node.path)


def _file_name(nodeid: str) -> str:
    """A name of a file for a test: words, and the rest as dashes."""
    return re.sub(r"[^\w.#]+", "-", nodeid).strip("-")


def _report_text(report: ScheduleReport) -> str:
    from io import StringIO

    from rich.console import Console

    from verified_tir.report.text import Detail, TextReport

    out = StringIO()
    TextReport(Console(file=out, highlight=False, markup=False, emoji=False), Detail.STEPS).schedule(report)
    return out.getvalue().rstrip()


def _error_text(bad: Any) -> str:
    from verified_tir.report.model import FileReport
    from verified_tir.report.problems import problem_of_file

    problem = problem_of_file(FileReport(bad.report.at.file, (), error=bad.report))
    assert problem is not None
    return f"{problem.at if problem.at.line else problem.at.file}: {problem.details}"
