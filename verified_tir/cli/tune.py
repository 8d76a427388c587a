"""``vtir tune``: the fastest candidate that a strategy leaves open; each is proved before it is built and timed."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

from verified_tir import __version__
from verified_tir.activity import Level, announce
from verified_tir.child.executors import each, failure
from verified_tir.cli.apart import write_any_character
from verified_tir.cli.discover import split_schedule
from verified_tir.cli.execute import RunError
from verified_tir.cli.executors import BadExecutor, executor_of
from verified_tir.cli.lower import complain
from verified_tir.cli.tune_bench import Job, NoStrategy, measured, opened
from verified_tir.cli.tune_report import as_json, as_text
from verified_tir.durations import seconds_of
from verified_tir.extras import missing
from verified_tir.lower.expression import PipelineError

if TYPE_CHECKING:
    from verified_tir.tune.bench import Bench, Result
    from verified_tir.tune.search import Counts, Decided, Search
    from verified_tir.tune.space import Choice, Decision

FOUND, REFUSED, MISTAKE, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: a best candidate; the strategy itself is refused, or results differ; a mistake; ended by Ctrl-C."""

FINALISTS: Final = 3
FINAL_SECONDS: Final = 3.0
"""So many of the best candidates are timed again in the end, for so long.  One wins if three quarters of its samples
are faster than three quarters of the default's."""


@final
@dataclass(frozen=True, slots=True)
class Options:
    """The options of ``vtir tune``, as they are on the command line."""

    where: str
    trials: int = 50
    time: str = ""
    shape: tuple[str, ...] = ()
    seed: int = 0
    store: Path | None = None
    pipeline: str = "default"
    threads: int = 1
    jobs: int = 1
    executor: str = "processes"
    output: Path | None = None
    budget: int | None = None
    cache: bool = True
    json: bool = False
    quiet: bool = False


@final
@dataclass(slots=True)
class Outcome:
    """What a search has found.

    :ivar taken: what the best candidate decides.
    :ivar ratio: how many times as fast as the default it is.
    :ivar file: the text of the file with these decisions, if it can be written; ``function``: of the strategy.
    """

    taken: list[tuple[Choice, Decision]]
    ratio: float
    seconds: float
    default_seconds: float
    counts: Counts
    file: str = ""
    function: str = ""
    trace: list[Any] = field(default_factory=list)
    interrupted: bool = False

    @property
    def is_default(self) -> bool:
        """Whether no candidate is surely faster than the default."""
        return all(decision == choice.default for choice, decision in self.taken)


def run(options: Options) -> int:
    """Search, write the report to the standard output, and give the exit code."""
    write_any_character()
    try:
        import optuna  # noqa: F401
    except ImportError:
        return complain(missing("vtir tune", "tune"))
    from verified_tir.tune.search import NoTrials

    out = sys.stdout  # what the file prints goes to the standard error
    try:
        seconds = seconds_of(options.time) if options.time else None
    except ValueError as problem:
        return complain(f"--time {options.time}: {problem}")
    if options.output is not None and options.output.suffix not in (".py", ".json"):
        return complain(f"--output {options.output}: write FILE.py or FILE.json")
    path, name = split_schedule(options.where)
    digest = hashlib.sha256(path.read_bytes() if path.is_file() else b"").hexdigest()
    job = Job(
        path.resolve(), str(path), name, options.shape, options.pipeline, options.threads, options.budget,
        options.cache, digest,
    )  # fmt: skip
    try:
        with opened(job) as bench:
            outcome = _tuned(options, job, bench, seconds)
    except (NoStrategy, RunError, PipelineError, BadExecutor, NoTrials) as problem:
        return complain(str(problem))
    except KeyboardInterrupt:  # before there was anything to report
        print("vtir: interrupted", file=sys.stderr)
        return INTERRUPTED
    if isinstance(outcome, str):
        print(f"vtir: refused: {options.where} itself: {outcome}", file=sys.stderr)
        return REFUSED
    if options.output is not None:
        try:
            _write(options.output, outcome)
        except OSError as problem:
            return complain(f"--output {options.output}: {problem.strerror}")
    code = INTERRUPTED if outcome.interrupted else REFUSED if outcome.counts.differs else FOUND
    if options.json:
        out.write(json.dumps({"version": __version__, "exit_code": code, **as_json(outcome)}, indent=2) + "\n")
    else:
        out.write(as_text(outcome, quiet=options.quiet) + "\n")
    return code


def _tuned(options: Options, job: Job, bench: Bench, seconds: float | None) -> Outcome | str:
    """What the search finds; or why the strategy itself is refused."""
    from verified_tir.tune.search import Search

    start = time.monotonic()
    announce(Level.FUNCTION, "the default")
    first = bench.measure(None)
    if first.kind != "measured":
        return first.reason
    if not any(c.count > 1 for c in first.choices):
        raise NoStrategy(
            f"{options.where} leaves nothing open: let it sample what is to be searched, as in "
            "s.sample_perfect_tile(i, 2) or s.sample_categorical([4, 8, 16], [1, 1, 1])"
        )
    study = f"{job.name} {job.digest[:16]} {' '.join(job.shape)} {job.pipeline} {job.threads}"
    search = Search(study, first.choices, options.seed, options.store)
    interrupted = False
    try:
        with executor_of(options.executor, options.jobs) as executor, _bar(options) as tell:
            several = 1 if executor is None else options.jobs or 1

            def measure(work: Sequence[Decided]) -> Iterator[Result]:
                if executor is None:
                    return (bench.measure(decided) for decided in work)
                return each(executor, measured, [(job, decided) for decided in work], _lost)

            while search.finished < options.trials and (seconds is None or time.monotonic() - start < seconds):
                search.step(min(several, options.trials - search.finished), measure)
                tell(search)
    except KeyboardInterrupt:
        interrupted = True
        search.abandon()
    announce(Level.FUNCTION, "the best candidates again")
    return _final(bench, search, interrupted)


def _lost(problem: Exception, _: Job, decided: Decided) -> Result:
    """What is said of a candidate whose process ended, twice."""
    from verified_tir.tune.bench import Result

    return Result("refused", tuple(choice for choice, _ in decided), reason=failure(problem))


def _final(bench: Bench, search: Search, interrupted: bool) -> Outcome | str:
    """The best candidates are proved and built here, and take turns with the default: that decides.

    A text says how the results of the default differ, which is compared again.
    """
    from verified_tir.tune.paste import CannotPaste, decided, function_text

    default = bench.prove(None)
    schedules = [default]
    for decisions in search.best(FINALISTS):
        if decisions != [d for _, d in default.taken]:
            schedules.append(bench.prove([(None, d) for d in decisions]))
    built = [bench.built(s) for s in schedules]
    if built[0].difference:
        return built[0].difference
    kept = [k for k, b in enumerate(built) if not b.difference]
    search.counts.differs += [b.difference for b in built if b.difference]
    times = bench.in_turns([built[k] for k in kept], FINAL_SECONDS)
    sure = [k for k, t in enumerate(times) if t.high < times[0].low]
    best = min(sure, key=lambda k: times[k].median, default=0)
    chosen = schedules[kept[best]]
    won = chosen.taken
    outcome = Outcome(
        won, times[0].median / times[best].median, times[best].median, times[0].median, search.counts,
        trace=chosen.trace.as_json(), interrupted=interrupted,
    )  # fmt: skip
    try:
        outcome.file = decided(Path(bench.function.file), won)
        outcome.function = function_text(outcome.file, bench.function.line)
    except CannotPaste as problem:
        outcome.file, outcome.function = "", f"# {problem}: take the decisions above"
    return outcome


def _write(output: Path, outcome: Outcome) -> None:
    if output.suffix == ".py" and outcome.file:
        output.write_text(outcome.file, encoding="utf-8")
    elif output.suffix == ".py":
        raise OSError(0, outcome.function.removeprefix("# ").partition(": take")[0] + "; write FILE.json")
    else:
        output.write_text(json.dumps(as_json(outcome), indent=2) + "\n", encoding="utf-8")


@contextmanager
def _bar(options: Options) -> Iterator[Any]:
    """A bar where a person looks: on the terminal of the errors, if there is one."""
    from rich.console import Console

    def said(search: Search) -> str:
        return f"best {1 / search.value:.2f} times the default" if search.value else "nothing measured yet"

    console = Console(stderr=True)
    if options.quiet or not console.file.isatty() or console.is_dumb_terminal:
        yield lambda s: announce(Level.FUNCTION, f"trial {s.finished} of {options.trials}, {said(s)}")
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(bar_width=20), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True, redirect_stdout=False) as bar:
        task = bar.add_task("", total=options.trials)
        yield lambda s: bar.update(task, completed=s.finished, description=said(s))
