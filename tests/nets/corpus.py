"""Programs and schedules of this project, to go through once more: the book, the examples, what must be rejected."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

from tests import must_reject
from tests.acceptance.book import book
from verified_tir import Schedule
from verified_tir.schedule.registry import ScheduleFunction, collecting

EXAMPLES = Path(__file__).parents[2] / "examples"

Case = tuple[str, Callable[[], object]]
"""A name, and what runs a schedule or several."""


def of_the_book() -> list[Case]:
    """The acceptance suite."""

    def case(entry: Any) -> Callable[[], object]:
        return lambda: entry.function(Schedule(entry.program, cache=False))

    return [(entry.id, case(entry)) for entry in book()]


def of_the_examples() -> list[Case]:
    """The schedules in examples/, those that must be refused too."""

    def case(made: ScheduleFunction) -> Callable[[], object]:
        return lambda: made.function(Schedule(made.program, cache=False))

    found: list[Case] = []
    for path in sorted(EXAMPLES.rglob("*.py")):
        if path.name == "displayed.py":
            continue
        spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.path.insert(0, str(path.parent))
        try:
            with collecting() as made:
                spec.loader.exec_module(module)
        finally:
            sys.path.remove(str(path.parent))
        found += [(f"{path.stem}.{m.__name__}", case(m)) for m in made]
    return found


def that_must_be_rejected() -> list[Case]:
    """The tests in tests/must_reject that need nothing but this package, as they are."""
    found: list[Case] = []
    for module in sorted(m.name for m in pkgutil.iter_modules(must_reject.__path__)):
        if module.startswith("test_") and not module.startswith("test_tvm_"):
            tests = importlib.import_module(f"{must_reject.__name__}.{module}")
            for name, test in sorted(vars(tests).items()):
                if name.startswith("test_") and callable(test):
                    found += _calls(f"{module}.{name}", test)
    return found


def _calls(name: str, test: Callable[..., object]) -> Iterator[Case]:
    """The calls that pytest would make of a test without fixtures."""
    marks = [m for m in getattr(test, "pytestmark", []) if m.name == "parametrize"]
    names: list[str] = []
    rows: list[list[tuple[Any, ...]]] = []
    for mark in marks:
        some = mark.args[0].split(",") if isinstance(mark.args[0], str) else list(mark.args[0])
        names += [n.strip() for n in some]
        values = [getattr(v, "values", v) if hasattr(v, "marks") else v for v in mark.args[1]]
        rows.append([tuple(v) if len(some) > 1 or (isinstance(v, tuple) and len(v) == 1) else (v,) for v in values])
    code = test.__code__
    if set(code.co_varnames[: code.co_argcount]) != set(names):
        return
    for k, row in enumerate(product(*rows)):
        given = dict(zip(names, [v for values in row for v in values], strict=True))
        yield f"{name}-{k}", lambda given=given: test(**given)


def run(case: Callable[[], object]) -> None:
    """Run a case for what it asks of the kernel; what it thinks of the answer is tested elsewhere."""
    with contextlib.suppress(Exception):
        case()
