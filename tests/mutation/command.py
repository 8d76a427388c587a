"""What ``python -m tests.mutation`` does: is each obligation and side condition missed when it is gone?"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, final

import typer

from tests.mutation.engine import Engine, WorkerFailed
from tests.mutation.equivalent import EQUIVALENT
from tests.mutation.listing import NoSuchMutant, select
from tests.mutation.mutant import Mutant
from tests.mutation.page import PAGE, write
from tests.mutation.results import Result
from tests.mutation.selection import LEFT_OUT, test_files
from tests.mutation.sources import checkout
from verified_tir.durations import seconds_of

OK, SURVIVED, MISTAKE, INTERRUPTED = 0, 1, 2, 130
"""Exit codes."""

STATE = ".mutation"
"""The folder in the checkout where results, and what tests reach, are kept."""

FUZZER = "tests.mutation.fuzzer:killer"
"""What ``--fuzz`` asks when all tests passed."""


@final
@dataclass(frozen=True, slots=True)
class Options:
    """The options of ``python -m tests.mutation``, as they are on the command line; times in seconds."""

    what: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    jobs: int = 2
    budget: float = 20.0
    time: float = 0.0
    sample: int = 0
    seed: int = 0
    list: bool = False
    only: str = ""
    show: str = ""
    fresh: bool = False
    survivors: bool = False
    write_docs: bool = False
    fuzz: bool = False
    stricter: bool = False
    tests: tuple[str, ...] = ()
    json: bool = False


def run(options: Options) -> int:
    """Do what the options say, and give the exit code."""
    try:
        root = checkout()
        chosen = select(root, options.what, options.operators, options.only or options.show, stricter=options.stricter)
        chosen = _sample(chosen, options)
        if options.show:
            return _show(root, chosen)
        if options.list:
            return _list(chosen, options)
        return _run(root, chosen, options)
    except (NoSuchMutant, WorkerFailed) as problem:
        print(f"tests.mutation: {problem}", file=sys.stderr)
        return MISTAKE
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here", file=sys.stderr)
        return INTERRUPTED


def _sample(chosen: list[Mutant], options: Options) -> list[Mutant]:
    """So many of the mutants as were asked for, always the same ones for a seed."""
    if not options.sample or options.sample >= len(chosen):
        return chosen
    places = random.Random(options.seed).sample(range(len(chosen)), options.sample)
    return [chosen[k] for k in sorted(places)]


def seconds(text: str, option: str) -> float:
    """A duration, as :func:`seconds_of` takes it.

    :raises typer.BadParameter: for anything else.
    """
    try:
        return seconds_of(text)
    except ValueError as problem:
        raise typer.BadParameter(f"{text}: {problem}", param_hint=option) from None


def _show(root: Path, chosen: Sequence[Mutant]) -> int:
    for m in chosen:
        print(f"{m.id}: {m.words} ({m.effect})")
        print(m.diff((root / m.file).read_bytes()))
    return OK


def _list(chosen: Sequence[Mutant], options: Options) -> int:
    if options.json:
        print(json.dumps([asdict(m) for m in chosen], indent=1))
        return OK
    for m in chosen:
        print(f"{m.id}  {m.words}")
    print(f"{len(chosen)} mutants")
    return OK


def _run(root: Path, chosen: Sequence[Mutant], options: Options) -> int:
    elsewhere = any(not m.file.startswith("verified_tir/kernel/") for m in chosen)
    named = dict.fromkeys(t for name in options.tests for t in _files(root, name))
    files = list(named) or test_files(root, everything=elsewhere)
    progress = _Progress(quiet=options.json, total=len(chosen))
    engine = Engine(
        root, root / STATE, options.jobs, options.budget, options.time, files,
        last=FUZZER if options.fuzz else "", report=progress,
    )  # fmt: skip
    if options.survivors or options.write_docs:
        results = engine.known(chosen)
    else:
        asked = chosen if options.only else [m for m in chosen if m.id not in EQUIVALENT]
        results = engine.run(asked, again=options.fresh)
    if options.write_docs:
        if write(root, chosen, {r.id: r for r in results}):
            print(f"written: {PAGE}")
        return OK
    return _report(root, chosen, results, options)


def _files(root: Path, name: str) -> list[str]:
    path = root / name
    found = [path] if path.is_file() else sorted(path.rglob("test_*.py"))
    if not found:
        raise NoSuchMutant(f"{name} is not a file or folder of tests")
    return [name for p in found if not (name := p.relative_to(root).as_posix()).startswith(LEFT_OUT)]


def _report(root: Path, chosen: Sequence[Mutant], results: Sequence[Result], options: Options) -> int:
    by_id = {m.id: m for m in chosen}
    left = [r for r in results if not r.killed and r.id not in EQUIVALENT]
    counts: Counter[str] = Counter(r.status for r in results if r.killed or r.id not in EQUIVALENT)
    if same := EQUIVALENT.keys() & by_id.keys() - {r.id for r in results if r.killed}:
        counts["equivalent"] = len(same)
    if options.json:
        document = {"mutants": len(chosen), "counts": counts, "results": [asdict(r) for r in results]}
        print(json.dumps(document, indent=1))
        return SURVIVED if left else OK
    for r in left:
        m = by_id[r.id]
        print(f"\n{r.status}: {m.id} ({m.effect}): {m.words}; {r.ran} of {r.of} tests that reach it were run")
        print(m.diff((root / m.file).read_bytes(), 1))
    told = ", ".join(f"{n} {status}" for status, n in sorted(counts.items()))
    unknown = len(chosen) - counts.total()
    print(f"\n{len(chosen)} mutants: {told or 'none was run'}" + (f", {unknown} not run" if unknown else ""))
    return SURVIVED if left else OK


@final
class _Progress:
    """One line for each mutant that was decided, and a word about what else takes time."""

    def __init__(self, *, quiet: bool, total: int) -> None:
        self.quiet, self.total, self.done = quiet, total, 0
        self.start = time.monotonic()

    def __call__(self, event: dict[str, Any]) -> None:
        if self.quiet:
            return
        match event:
            case {"event": "recorded", "file": file, "ok": ok}:
                print(f"what {file} reaches is {'known' if ok else 'not known: its process died'}", flush=True)
            case {"event": "collected"}:
                self.done, self.start = 0, time.monotonic()
            case {"event": "done", "id": name, "status": status, "by": by, "seconds": seconds}:
                self.done += 1
                tail = f" by {by}" if by else ""
                rate = 60 * self.done / (time.monotonic() - self.start)
                print(f"{self.done:5} {rate:4.0f}/min {seconds:6.2f}s {status:9} {name}{tail}", flush=True)
            case {"event": "unusable", "test": test}:
                print(f"{test} fails without a mutant; it decides nothing", flush=True)
            case _:
                pass
