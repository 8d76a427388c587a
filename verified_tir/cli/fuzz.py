"""``vtir fuzz``: campaigns of random programs and schedules; what fails becomes a pytest file."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

from verified_tir.cli.lower import complain
from verified_tir.cli.tables import aligned
from verified_tir.durations import seconds_of
from verified_tir.extras import missing
from verified_tir.fuzz.options import Listener
from verified_tir.fuzz.options import Options as CampaignOptions
from verified_tir.fuzz.registry import TARGETS, BrokenTarget, MissingModule, UnknownTarget, load

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from verified_tir.fuzz.campaign import Campaign
    from verified_tir.fuzz.target import Target

CLEAN, FOUND, MISTAKE, NOTHING, INTERRUPTED, TERMINATED = 0, 1, 2, 3, 130, 143
"""Exit codes: no finding, findings, a mistake, no case checked (of any target, or of one that was asked for by name),
ended by SIGINT (Ctrl-C), by SIGTERM."""

_TEN_MINUTES: Final = 600.0


@final
@dataclass(frozen=True, slots=True)
class Options(CampaignOptions):
    """The options of ``vtir fuzz``, as they are on the command line; durations as text."""

    time: str = ""
    timeout: str = "120s"
    shrink: str = "60s"
    json: bool = False
    quiet: bool = False
    list_targets: bool = False
    replay: tuple[Path, ...] = ()
    executor: str = "processes"


class Mistake(ValueError):
    """An option that cannot be used."""


def run(options: Options) -> int:
    """Run a campaign, write to the standard output, and give the exit code."""
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # where targets of one's own are, and those of a source checkout
    try:
        if options.list_targets:
            return _list(options)
        if options.replay:
            return _replay(options)
        return _fuzz(options)
    except (Mistake, UnknownTarget, MissingModule, BrokenTarget) as mistake:
        return complain(str(mistake))
    except KeyboardInterrupt:  # before the campaign began
        return INTERRUPTED


def seconds(text: str, option: str = "--time") -> float:
    """A duration, as :func:`seconds_of` takes it.

    :raises Mistake: for anything else.
    """
    try:
        return seconds_of(text)
    except ValueError as problem:
        raise Mistake(f"{option} {text}: {problem}") from None


# -- a campaign -------------------------------------------------------------------------------------------------------


def _fuzz(options: Options) -> int:
    if importlib.util.find_spec("hypothesis") is None:
        raise Mistake(missing("vtir fuzz", "testing"))
    limit, time = seconds(options.timeout, "--timeout"), _time(options)
    targets, absent = _chosen(options)
    _writable(options.findings)
    listener = _listener(options, targets, absent)
    asked = replace(
        options,
        targets=tuple(targets),
        seconds=time,
        limit=limit,
        shrinking=seconds(options.shrink, "--shrink"),
        command=shlex.join(["vtir", *sys.argv[1:]]),
    )
    with _elsewhere(options) as executor:
        return _ran(options, asked, listener, targets, absent, executor)


@contextmanager
def _elsewhere(options: Options) -> Iterator[Executor | None]:
    """Where the work is done, if not by processes of the campaign's own.

    :raises Mistake: if there is no such place.
    """
    if options.executor == "processes":
        yield None
        return
    from verified_tir.cli.executors import BadExecutor, executor_of

    try:
        with executor_of(options.executor, options.jobs) as executor:
            yield executor
    except BadExecutor as problem:
        raise Mistake(str(problem)) from None


def _ran(
    options: Options, asked: CampaignOptions, listener: Listener, targets: dict[str, Target[Any]],
    absent: dict[str, str], executor: Executor | None,
) -> int:  # fmt: skip
    from verified_tir.fuzz.campaign import Campaign, NoWorkers
    from verified_tir.fuzz.database import NoDatabase
    from verified_tir.fuzz.state import BadState, StateInUse

    try:
        campaign = Campaign(asked, listener, executor)
    except (NoDatabase, BadState, StateInUse) as mistake:
        raise Mistake(str(mistake)) from None
    except OSError as problem:
        raise Mistake(f"--state {options.state}: {problem.strerror or problem}") from None
    try:
        with _ended_by_signals(campaign) as ended:
            campaign()
    except NoWorkers as problem:
        raise Mistake(str(problem)) from None
    asked_for = _named(options)
    nothing = len(campaign.unchecked) == len(targets) or any(name in asked_for for name in campaign.unchecked)
    code = ended[0] if ended else FOUND if campaign.findings else NOTHING if nothing else CLEAN
    _say(campaign, targets, absent, options, code)
    return code


def _writable(folder: Path) -> None:
    """:raises Mistake: if findings could not be written there, which would show only when there is one."""
    new = [f for f in (folder, *folder.parents) if not f.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        for made in new:
            made.rmdir()
    except OSError as problem:
        raise Mistake(f"--findings {folder}: {problem.strerror or problem}") from None


def _time(options: Options) -> float | None:
    if options.time:
        return seconds(options.time)
    return None if options.examples is not None else _TEN_MINUTES


def _named(options: Options) -> list[str]:
    """The targets that were asked for by name; ``all`` may be among them."""
    return [name for given in options.targets for name in re.split(r",\s*", given)]


def _chosen(options: Options) -> tuple[dict[str, Target[Any]], dict[str, str]]:
    """The targets that are run, and why others are not.

    A target that was asked for by name must run; of all of them, those are left out whose extras, or source checkout,
    are missing.
    """
    names = _named(options)
    if names and "all" not in names:
        return {name: load(name) for name in dict.fromkeys(names)}, {}
    found, absent = {}, {}
    for name in dict.fromkeys([*TARGETS, *(n for n in names if n != "all")]):
        try:
            found[name] = load(name)
        except MissingModule as missing:
            if "hypothesis" in missing.modules or name in names:
                raise
            absent[name] = str(missing)
    if not found:
        raise Mistake(
            "no target runs here: those of this project are in its source checkout, and run in the folder of one; "
            "--target module:ATTRIBUTE names one of your own"
        )
    return found, absent


def _listener(options: Options, targets: dict[str, Target[Any]], absent: dict[str, str]) -> Listener:
    from verified_tir.cli.fuzz_display import Lines, Screen

    if options.json:
        return Listener()
    if options.quiet:
        return Lines(targets, absent, progress=False)
    return Screen(targets, absent) if sys.stdout.isatty() else Lines(targets, absent)


def _say(
    campaign: Campaign, targets: dict[str, Target[Any]], absent: dict[str, str], options: Options, code: int
) -> None:
    from verified_tir.cli.fuzz_report import fields, summary

    if options.json:
        sys.stdout.write(json.dumps(fields(campaign, targets, absent, code), indent=2) + "\n")
    else:
        print(summary(campaign, targets, brief=options.quiet))


@contextmanager
def _ended_by_signals(campaign: Campaign) -> Iterator[list[int]]:
    """SIGINT and SIGTERM end the campaign; the exit code that they call for is in the list."""
    ended: list[int] = []

    def end(number: int, frame: object) -> None:
        ended.append(INTERRUPTED if number == signal.SIGINT else TERMINATED)
        campaign.stop()

    old = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield ended
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


# -- other things -----------------------------------------------------------------------------------------------------


def _list(options: Options) -> int:
    rows: list[dict[str, Any]] = []
    for name in TARGETS:
        try:
            rows.append({"name": name, "summary": load(name).summary, "runs_here": True})
        except (MissingModule, BrokenTarget) as problem:
            rows.append({"name": name, "summary": str(problem), "runs_here": False})
    if options.json:
        print(json.dumps(rows, indent=2))
    else:
        told = [(r["name"], f"{'' if r['runs_here'] else '(does not run here) '}{r['summary']}") for r in rows]
        print("\n".join(aligned(told)))
    return CLEAN


def _replay(options: Options) -> int:
    """Run the files of findings again, each in a process of its own."""
    from verified_tir.fuzz.findings import described, fails

    files = []
    for path in options.replay:
        files += sorted(path.glob("test_*.py")) if path.is_dir() else [path]
    if absent := [path for path in files if not path.is_file()]:
        raise Mistake(f"--replay {absent[0]}: there is no such file")
    if not files:
        raise Mistake(f"--replay {options.replay[0]}: there is no test_*.py in this folder")
    limit = seconds(options.timeout, "--timeout")
    failing, rows = 0, []
    for path in files:
        outcome = fails(path, limit)
        word = {True: "fails", False: "passes", None: "cannot be run"}[outcome]
        failing += outcome is not False
        rows.append({"file": str(path), "finding": described(path), "outcome": word})
        if not options.json:
            print(f"{word:6} {path}: {described(path)}", flush=True)
    if options.json:
        print(json.dumps(rows, indent=2))
    elif not options.quiet:
        print(f"{failing} of {len(files)} still fail")
    return FOUND if failing else CLEAN
