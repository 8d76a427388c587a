"""``vtir bench``: what is to be timed, in turns with its peers; a table, and what is kept of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from rich.console import Console
from rich.text import Text

from verified_tir.activity import Level, announce, watched
from verified_tir.bench.cases import FAILS, OURS, Case, Unusable
from verified_tir.bench.chart import charts
from verified_tir.bench.kernel_table import KERNELS
from verified_tir.bench.kernels import kernel_case, sizes_of_kernel
from verified_tir.bench.machine import FMA, environment, warnings
from verified_tir.bench.peers import NAMES, limited_to
from verified_tir.bench.record import Row, changes, document, measured, read
from verified_tir.cli.apart import write_any_character
from verified_tir.cli.bench_files import model_case, schedule_case, users
from verified_tir.cli.discover import split_schedule
from verified_tir.cli.execute import RunError, sizes_of
from verified_tir.cli.load import BadFileError, describe
from verified_tir.cli.lower import complain
from verified_tir.cli.models import is_model
from verified_tir.cli.programs import functions_of
from verified_tir.cli.tables import aligned
from verified_tir.codegen.errors import CodegenError
from verified_tir.durations import duration, seconds_of
from verified_tir.graph.errors import GraphError
from verified_tir.lower.expression import PipelineError, parse_pipeline
from verified_tir.report.error_codes import code_of_exception, with_code
from verified_tir.schedule.errors import ScheduleError
from verified_tir.schedule.spelling import meant

REFUSED: Final = 1
FLOAT: Final = "float32"


@final
@dataclass(frozen=True, slots=True)
class Options:
    """The options of ``vtir bench``, as they are on the command line."""

    what: tuple[str, ...]
    sizes: str = ""
    dtype: str = ""
    threads: int = 1
    time: str = "1s"
    shape: tuple[str, ...] = ()
    pipeline: str = "default"
    peers: tuple[str, ...] = ()
    layouts: tuple[str, ...] = ()
    weights: str = "given"
    contract: bool = False
    seed: int = 0
    json: Path | None = None
    compare: Path | None = None
    tolerance: float = 0.1
    svg: Path | None = None
    markdown: bool = False


def run(options: Options) -> int:
    """Measure, write to the standard output, and give the exit code: 0, 1 or 2."""
    write_any_character()
    try:
        return _run(options)
    except (ScheduleError, CodegenError) as refused:
        return _refuse(refused, refused)
    except GraphError as problem:
        cause = problem.__cause__
        return _refuse(problem, cause) if isinstance(cause, ScheduleError) else complain(str(problem))
    except BadFileError as bad:
        return complain(f"{bad.report.at}: {bad.report.message}")
    except (Unusable, RunError, PipelineError) as problem:
        return complain(str(problem))
    except OSError as problem:
        if problem.filename is None:
            raise
        return complain(f"{problem.filename}: {problem.strerror}")


def _refuse(refused: Exception, cause: BaseException) -> int:
    print(f"vtir: refused: {with_code(str(refused), code_of_exception(cause))}", file=sys.stderr)
    return REFUSED


def _run(options: Options) -> int:
    machine = environment()
    if not 1 <= options.threads <= machine["cores"]:
        raise Unusable(f"--threads {options.threads}: this process may use 1 to {machine['cores']}")
    try:
        budget = seconds_of(options.time)
    except ValueError as problem:
        raise Unusable(f"--time {options.time}: {problem}") from None
    old = None if options.compare is None else read(options.compare)
    for warning in warnings():
        print(f"vtir: warning: {warning}", file=sys.stderr)
    _check(options)
    rows: list[Row] = []
    wrong: dict[str, dict[str, str]] = {}
    with limited_to(options.threads), _shown(), closing(_cases(options)) as cases:
        for case in cases:
            announce(Level.FUNCTION, case.name)
            announce(Level.STEP, "comparing results")
            found = case.wrong()
            if found:
                wrong[case.name] = found
            else:
                rows.append(measured(case, budget))
    slower = _report(options, rows, wrong, machine, old)
    code = 1 if wrong or slower else 0
    if options.json is not None:
        text = json.dumps(document(rows, wrong, machine, code), indent=2, ensure_ascii=False)
        options.json.write_text(f"{text}\n", encoding="utf-8")
    if options.svg is not None:
        options.svg.mkdir(parents=True, exist_ok=True)
        for name, picture in charts(rows).items():
            (options.svg / name).write_text(picture, encoding="utf-8")
    return code


@contextmanager
def _shown() -> Iterator[None]:
    """One line on what is going on, where a person looks."""
    console = Console(stderr=True)
    if not console.is_terminal or console.is_dumb_terminal:
        yield
        return
    with console.status("") as status, watched(lambda level, what: status.update(Text(what)) if what else None):
        yield


# -- what is timed -----------------------------------------------------------------------------------------------------


def _check(options: Options) -> None:
    """:raises Unusable: for what would be a mistake only after minutes."""
    for what in options.what:
        if what in KERNELS:
            sizes_of_kernel(what, options.sizes, options.dtype or FLOAT)
        elif not Path(what).exists() and not split_schedule(what)[0].exists():
            known = f"the kernels are {', '.join(KERNELS)}{meant(what, KERNELS)}"
            raise Unusable(f"{what} is neither a kernel nor a file; {known}")
    if options.sizes and not any(what in KERNELS for what in options.what):
        raise Unusable("--sizes is for kernels; of a schedule or a model, say --shape name=value")
    if options.dtype and not any(what in KERNELS for what in options.what):
        raise Unusable("--dtype is for kernels; a schedule and a model have the types that they are written with")
    if (options.layouts or options.contract) and not any(is_model(Path(what)) for what in options.what):
        raise Unusable("--layout and --contract are for models")
    if options.json is not None and not options.json.parent.is_dir():
        raise Unusable(f"--json {options.json}: there is no folder {options.json.parent}")
    if options.json is not None and options.json.is_dir():
        raise Unusable(f"--json {options.json}: this is a folder; name a file")
    if options.svg is not None and options.svg.exists() and not options.svg.is_dir():
        raise Unusable(f"--svg {options.svg}: this is no folder")
    if options.weights not in ("given", "random"):
        raise Unusable(f"--weights {options.weights}: there are given and random")


def _cases(options: Options) -> Generator[Case, None, None]:
    pipeline, shapes = parse_pipeline(options.pipeline), options.shape
    weights = options.seed if options.weights == "random" else None
    peers = [p for p in options.peers if p in NAMES] if options.peers else NAMES
    theirs = users([p for p in options.peers if p not in NAMES])
    for what in options.what:
        if what in KERNELS:
            dtype = options.dtype or FLOAT
            for sizes in sizes_of_kernel(what, options.sizes, dtype):
                yield kernel_case(what, sizes, dtype, options.threads, options.seed, peers)
        elif is_model(Path(what)):
            yield model_case(
                Path(what), shapes, options.layouts, weights, options.threads, options.seed, contract=options.contract
            )
        else:
            wanted = sizes_of(shapes)
            path, name = split_schedule(what)
            with functions_of(path, name) as functions:
                for f in functions:
                    announce(Level.FUNCTION, f.name)
                    try:
                        case = schedule_case(f, pipeline, wanted, options.threads, options.seed, peers, theirs)
                    except (ScheduleError, CodegenError, Unusable, RunError):
                        raise
                    except Exception as problem:  # in the schedule function of the file
                        raise BadFileError(describe(problem, path.resolve(), str(path))) from problem
                    yield case


# -- what is said ------------------------------------------------------------------------------------------------------


def _report(
    options: Options,
    rows: Sequence[Row],
    wrong: Mapping[str, Mapping[str, str]],
    machine: Mapping[str, Any],
    old: Mapping[str, Any] | None,
) -> bool:
    """Print everything; whether something is slower than it was."""
    if rows:
        versions = {n: v for n, v in machine["versions"].items() if n == "numpy" or any(n in r.peers for r in rows)}
        print(f"{machine['processor']}, {machine['target']}")
        print(", ".join(f"{n} {v}" + (f" with {machine['blas']}" if n == "numpy" else "") for n, v in versions.items()))
        print()
        table = _table(rows)
        print("\n".join(_markdown(table) if options.markdown else aligned(table)))
        print()
        print("\n".join(_notes(rows)))
    for name, found in wrong.items():
        for entry, text in found.items():
            failed = text.startswith(FAILS)
            what = f"{entry} {text.removeprefix('it ')}" if failed else f"the result of {entry} is wrong: {text}"
            print(f"{name}: not timed: {what}")
    return old is not None and _compare(options, rows, machine, old)


def _table(rows: Sequence[Row]) -> list[list[str]]:
    """The cells, with a head."""
    peers = sorted({n for r in rows for n in r.peers}, key=lambda n: (n in NAMES and NAMES.index(n) + 1, n))
    head = ["kernel", "sizes", "dtype", "threads", OURS, "rate", "of peak", *peers, "proof", "compile"]
    table = [head]
    for r in rows:
        rate, unit = r.rate(r.ours)
        share = "–" if r.share is None else f"{r.share[0]:.0%} {'FMA' if r.share[1] == FMA else r.share[1]}"
        times = [f"{duration(r.peers[n])} {r.peers[n] / r.ours:.2f}×" if n in r.peers else "–" for n in peers]
        c = r.case
        what = c.kernel, c.sizes, c.dtype, str(c.threads)
        once = [duration(s) if s else "–" for s in (c.proof_seconds, c.compile_seconds)]
        table.append([*what, duration(r.ours), f"{rate:.3g} {unit}", share, *times, *once])
    return table


def _markdown(table: Sequence[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(row) + " |" for row in table]
    return [lines[0], "|---" * len(table[0]) + "|", *lines[1:]]


def _notes(rows: Sequence[Row]) -> Iterator[str]:
    counts = sorted({t.rounds for r in rows for t in r.times.values()})
    many = f"{counts[0]}" if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"
    yield f"Medians of {many} rounds in turns, {rows[0].clock}; ×: how many times as long as ours."
    what = dict.fromkeys((n, e.what) for r in rows for n, e in r.case.entries.items() if e.what)
    if what:
        yield "; ".join(f"{n}: {text}" for n, text in what) + "."
    absent = {n: why for r in rows for n, why in r.case.absent.items()}
    if absent:
        yield "Left out: " + "; ".join(f"{n} ({why})" for n, why in absent.items()) + "."


def _compare(options: Options, rows: Sequence[Row], machine: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    found = changes(rows, machine, old)
    if rows and not found:
        raise Unusable(f"--compare {options.compare}: it has none of these kernels, sizes, types and threads")
    if old["environment"]["processor"] != machine["processor"]:
        print(
            f"vtir: warning: {options.compare} is of another machine: {old['environment']['processor']}",
            file=sys.stderr,
        )
    slower = False
    for c in found:
        slow = c.longer and c.factor > 1 + options.tolerance
        slower |= slow
        by = f"beside {', '.join(c.by)}" if c.by else "by the clock: no peer is in both"
        print(f"{'SLOWER' if slow else 'ok'}: {c.name} takes {c.factor:.2f} × as long as before, {by}")
    return slower
