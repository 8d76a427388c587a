"""``vtir check``: certificates, checked by the kernel and by solvers of choice, on many processes.

Only ``--regenerate`` imports schedules and tactics, and ``--questions-only`` does not even import the kernel.  Nothing
here knows what a verdict was when the certificate was written.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

from verified_tir.activity import Level, announce
from verified_tir.certificate.integrity import OTHER_PROGRAM, Finding
from verified_tir.certificate.questions import Checked, check_questions
from verified_tir.certificate.sources import BadSource, attributes_apart, other_program, programs
from verified_tir.certificate.store import MANIFEST, BadStore
from verified_tir.cli.apart import write_any_character
from verified_tir.cli.check_report import as_json, as_text
from verified_tir.cli.discover import split_name
from verified_tir.cli.executors import BadExecutor, executor_of
from verified_tir.cli.reading import text_of
from verified_tir.extras import missing
from verified_tir.logic.recheck import BUDGET, SolverName, version
from verified_tir.report.error_codes import code_of_exception, with_code

if TYPE_CHECKING:
    from verified_tir.certificate.integrity import MadeAgain
    from verified_tir.certificate.plan_believed import Believed
    from verified_tir.certificate.questions import Progress
    from verified_tir.graph.ir import Graph
    from verified_tir.ir.func import PrimFunc

OK, FALSE, MISTAKE, UNDECIDED, BELIEVED, INTERRUPTED = 0, 1, 2, 3, 4, 130
"""Exit codes."""

SOLVERS: Final[dict[str, tuple[SolverName, ...]]] = {"z3": ("z3",), "cvc5": ("cvc5",), "both": ("z3", "cvc5")}


@final
@dataclass(frozen=True, slots=True)
class Options:
    """The options of ``vtir check``, as they are on the command line; ``jobs`` is 0 for one on each core."""

    directory: Path
    solver: str = "z3"
    regenerate: bool = False
    questions_only: bool = False
    jobs: int = 0
    executor: str = "processes"
    only: str = ""
    before: str = ""
    after: str = ""
    budget: int | None = None
    quiet: bool = False
    json: bool = False
    believe: tuple[str, ...] = ()


class _Mistake(ValueError):
    """An option that cannot be used."""


def run(options: Options) -> int:
    """Check, write the report to the standard output, and give the exit code."""
    write_any_character()
    try:
        return _run(options)
    except (_Mistake, BadExecutor, BadStore, BadSource) as mistake:
        print(f"vtir: error: {with_code(str(mistake), code_of_exception(mistake))}", file=sys.stderr)
        return MISTAKE
    except KeyboardInterrupt:
        print("vtir: interrupted", file=sys.stderr)
        return INTERRUPTED


def _run(options: Options) -> int:
    solvers = _solvers(options.solver)
    model = _model(options.before, options.directory)
    given = [(which, where) for which, where in _given(options) if where and not (which == "before" and model)]
    wanted = {which: (where, _programs(where)) for which, where in given}
    with executor_of(options.executor, options.jobs) as executor:
        checked = _checked(options, solvers, executor)
        if not checked.certificates and not checked.plans:
            what = f"no certificate's name contains {options.only!r}" if options.only else "there are no certificates"
            raise _Mistake(f"{options.directory}: {what}")
        believed: list[Believed] = []
        others = [*_sources(wanted, checked), *_plans(options, checked, model, believed)]
        again = _regenerated(options, executor) if options.regenerate else None
    code = _exit_code(checked, others, again)
    if code == OK and any(b.name not in options.believe for b in believed):
        code = BELIEVED
    if options.json:
        sys.stdout.write(as_json(checked, others, again, code, believed) + "\n")
    else:
        for line in as_text(checked, others, again, quiet=options.quiet, believed=believed):
            print(line)
    return code


def _programs(where: str) -> list[PrimFunc]:
    path, _ = split_name(where)
    try:
        text_of(path)
    except ValueError as problem:
        raise _Mistake(f"{path}: {problem}") from None
    return programs(where)


def _checked(options: Options, solvers: tuple[SolverName, ...], executor: Executor | None) -> Checked:
    with _bar(options) as progress:
        named: Any = {"only": options.only, "budget": options.budget or BUDGET, "progress": progress}
        if options.questions_only:
            return check_questions(options.directory, solvers, executor, **named)
        from verified_tir.certificate.check import check

        return check(options.directory, solvers, executor, **named)


def _exit_code(checked: Checked, others: list[Finding], again: list[MadeAgain] | None) -> int:
    if checked.exit_code == FALSE or others or any(r.findings for r in again or ()):
        return FALSE
    return UNDECIDED if checked.exit_code == UNDECIDED or any(r.impossible for r in again or ()) else OK


def _solvers(name: str) -> tuple[SolverName, ...]:
    if name not in SOLVERS:
        raise _Mistake(f"there is no solver {name!r}; there are {', '.join(SOLVERS)}")
    for solver in SOLVERS[name]:
        if version(solver) is None:
            raise _Mistake(missing(f"--solver {name}", "cvc5"))
    return SOLVERS[name]


def _given(options: Options) -> tuple[tuple[str, str], ...]:
    return ("before", options.before), ("after", options.after)


def _sources(wanted: dict[str, tuple[str, list[PrimFunc]]], checked: Checked) -> Iterator[Finding]:
    """Programs that are not those of the files given."""
    for which, (where, found) in wanted.items():
        for c in checked.certificates:
            problem = "" if c.content is None else other_program(c.content, which, found)
            if c.content is not None and problem:
                hint = attributes_apart(c.content, which, found)
                yield Finding(c.name, which, f"{problem} of {where}{hint and f'; {hint}'}", OTHER_PROGRAM)


def _model(where: str, folder: Path) -> Graph | None:
    """The model that ``--before`` names, if it names one; shapes that it leaves open are those of the plan.

    :raises _Mistake: if it is broken.
    """
    from verified_tir.cli.models import is_model, load_model
    from verified_tir.graph.errors import GraphError

    if not where or not is_model(Path(where)):
        return None
    try:
        model = load_model(Path(where))[0]
        sizes = _planned_sizes(folder, model)
        return load_model(Path(where), sizes)[0] if sizes else model
    except GraphError as problem:
        raise _Mistake(f"--before {where}: {problem}") from None


def _planned_sizes(folder: Path, model: Graph) -> list[str]:
    """Sizes that a model leaves open and a plan does not, as ``--shape`` takes them; what is wrong with the folder is
    said elsewhere."""
    from verified_tir.certificate.plan_graphs import read_graph
    from verified_tir.graph.errors import GraphError
    from verified_tir.ir.expr import Var

    try:
        name = next(iter(json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["plans"]))
        plan = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        inputs = {v.name: v for v in read_graph(plan, "before").inputs}
    except (GraphError, OSError, ValueError, KeyError, TypeError, StopIteration):
        return []
    found: dict[str, int] = {}
    for v in model.inputs:
        dims = inputs[v.name].dims if v.name in inputs else ()
        found |= {e.name: n for e, n in zip(v.dims, dims, strict=False) if isinstance(e, Var) and isinstance(n, int)}
    return [f"{name}={n}" for name, n in found.items()]


def _plans(options: Options, checked: Checked, model: Graph | None, believed: list[Believed]) -> list[Finding]:
    """What is wrong with the steps of plans; only these need to know what graphs are."""
    if model is not None and not checked.plans:
        raise _Mistake(f"--before {options.before}: there is no plan of a model in {options.directory}")
    if not checked.plans:
        return []
    from verified_tir.certificate.replacements import follow_all

    return follow_all(checked.plans, {c.name: c.content for c in checked.certificates}, model, believed)


def _regenerated(options: Options, executor: Executor | None) -> list[MadeAgain]:
    from verified_tir.certificate.regenerate import regenerate

    with _bar(options) as progress:
        return regenerate(options.directory, executor, only=options.only, progress=progress)


@contextmanager
def _bar(options: Options) -> Iterator[Progress]:
    """A bar where a person looks: on the terminal of the errors, if there is one."""
    from rich.console import Console

    def tell(done: int, total: int) -> None:
        announce(Level.STEP, f"question {done} of {total}")

    announce(Level.FILE, str(options.directory))
    console = Console(stderr=True)
    if options.quiet or not console.file.isatty() or console.is_dumb_terminal:
        yield tell
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

    columns = (BarColumn(bar_width=20), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, redirect_stdout=False) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
