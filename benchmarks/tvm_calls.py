"""How many recorded calls of another compiler's schedule primitives go through here, and why not the others.

    python benchmarks/tvm_calls.py FOLDER [--file sched] [--only split | --traces] [--seconds 20] [--json FILE]

``FOLDER`` has ``sched.jsonl.gz`` and ``dlight.jsonl.gz``: one JSON object a line with the primitive's ``name``, the
function ``func`` of the module ``before``, the arguments, and ``after``, the module that TVM made (null where it
raised).  Each distinct call that TVM accepted is made on a ``Schedule`` of ``before``.  The tables give what was
accepted by primitive, what was refused by its reason, and the time of a step.  Of an accepted call it is told whether
the program is the one that TVM made, up to names and simplification.  With ``--traces``, the calls that TVM made one
after the other are made on one schedule, which must not race at the end.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import json
import re
import signal
import statistics
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from verified_tir.index.parse import parse_index_map
from verified_tir.ir import structural_equal
from verified_tir.ir.dtype import INT32, INT64
from verified_tir.ir.expr import Var
from verified_tir.ir.func import IRModule, PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.script import parse
from verified_tir.ir.stmt import Block, For, Stmt
from verified_tir.ir.visit import sub_statements
from verified_tir.lower import Simplify
from verified_tir.schedule.errors import ScheduleError
from verified_tir.schedule.intrinsics import TensorIntrin
from verified_tir.schedule.schedule import Schedule

OTHER_NAMES: dict[str, str] = {}
"""Primitives that are called otherwise here."""


class TooLong(Exception):
    """A call took longer than it may."""


@dataclass
class Outcome:
    """What became of one call: accepted, refused, not known, or its program was not read."""

    id: str
    primitive: str
    outcome: str
    reason: str = ""
    seconds: float = 0.0
    same: bool = False


def records(folder: Path, only_file: str, only: str) -> Iterator[dict[str, Any]]:
    """The distinct calls that TVM accepted."""
    seen: set[str] = set()
    for name in ("sched", "dlight"):
        if only_file not in ("", name):
            continue
        with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line)
                key = json.dumps([record[k] for k in ("name", "func", "before", "args", "kwargs")])
                if record["after"] is not None and only in ("", record["name"]) and key not in seen:
                    seen.add(key)
                    yield record


def traces(folder: Path, only_file: str) -> Iterator[list[dict[str, Any]]]:
    """The distinct sequences of calls of one test, each of which TVM made on the module that the one before it left."""
    seen: set[str] = set()
    for name in ("sched", "dlight"):
        if only_file not in ("", name):
            continue
        found: list[list[dict[str, Any]]] = []
        with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            for record in map(json.loads, lines):
                if record["after"] is None:
                    continue
                if not found or found[-1][-1]["after"] != record["before"]:
                    found.append([])
                found[-1].append(record)
        for trace in found:
            key = json.dumps([[r[k] for k in ("name", "func", "before", "args", "kwargs")] for r in trace])
            if len(trace) > 1 and key not in seen:
                seen.add(key)
                yield trace


def register_intrinsics(folder: Path) -> None:
    """Register the tensor intrinsics that calls name; an implementation that can be proved is none, and is left out."""
    file = folder / "intrinsics.json.gz"
    if file.exists():
        with gzip.open(file, "rt", encoding="utf-8") as text:
            for name, parts in json.load(text).items():
                for impl in (parts["impl"], None):
                    try:
                        TensorIntrin.register(name, parts["desc"], impl)
                        break
                    except (ScheduleError, IRError, ValueError):
                        continue


def loaded(text: str, func: str) -> Schedule:
    """The program of a record."""
    return Schedule(text, name=func) if f"def {func}(" in text else Schedule(text)


def argument(s: Schedule, recorded: Any, theirs: PrimFunc | None = None) -> Any:
    """An argument as it is passed here.

    :param theirs: TVM's program at the call, by which its loops and blocks are found here.
    """
    value = recorded.get("v")
    match recorded["t"]:
        case "lit" | "imm":
            return value
        case "list" | "tuple":
            return [argument(s, v, theirs) for v in value]
        case "dict":
            return {k: argument(s, v, theirs) for k, v in value.items()}
        case "block":
            return recorded["name"]
        case "loop":
            return loop(s, recorded, theirs)
        case "map":
            dtype = INT64 if "T.int64" in value else INT32
            return parse_index_map(value.removeprefix("T.index_map(").removesuffix(")"), dtype=dtype)
        case "src":
            return function(value)
        case "other" if recorded["cls"] == "dict":
            return ast.literal_eval(value)
    raise ValueError(f"an argument {value} of kind {recorded['t']}")


def loop(s: Schedule, recorded: Any, theirs: PrimFunc | None) -> Any:
    """The loop that TVM's was: the one as deep around the same block; or by its number, or its name."""
    handles = s.loops()
    nests = [] if theirs is None else nests_of(theirs.body)
    every = list(dict.fromkeys(v for _, around in nests for v in around))
    if len(every) == recorded["of"]:
        wanted = every[recorded["i"]]
        for name, around in nests:
            try:
                ours = s.loops(name)
            except ScheduleError:  # none of that name, or several
                continue
            if wanted in around and len(ours) == len(around):
                return ours[around.index(wanted)]
    if len(handles) == recorded["of"]:
        return handles[recorded["i"]]
    return recorded["name"]


def nests_of(stmt: Stmt, around: tuple[Var, ...] = ()) -> list[tuple[str, tuple[Var, ...]]]:
    """The innermost blocks of a program, and the loops around each, outermost first."""
    inner = (*around, stmt.var) if isinstance(stmt, For) else around
    found = [n for sub in sub_statements(stmt) for n in nests_of(sub, inner)]
    return found or ([(stmt.name, around)] if isinstance(stmt, Block) else [])


def function(source: str) -> Callable[..., Any]:
    """The function in a piece of source text: a lambda, or a definition."""
    source = textwrap.dedent(source).strip().rstrip(",")
    for text in (source, f"call({source})", f"call({source.partition('=')[2]})"):
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Lambda):
                made: Callable[..., Any] = eval(ast.unparse(node))
                return made
            if isinstance(node, ast.FunctionDef):
                space: dict[str, Any] = {}
                exec(ast.unparse(node), space)
                found: Callable[..., Any] = space[node.name]
                return found
    raise ValueError(f"no function is seen in {source}")


def reason(problem: BaseException) -> str:
    """A refusal without what differs from program to program, so that like ones are counted together."""
    if isinstance(problem, ScheduleError):
        return problem.reason.strip().splitlines()[0]
    first = str(problem).strip().splitlines()[0] if str(problem).strip() else type(problem).__name__
    return first.partition(": refused, since ")[2] or first.partition("): ")[2] or first


def replay(record: dict[str, Any]) -> Outcome:
    """Make a call, and look at what it gives."""
    try:
        s = loaded(record["before"], record["func"])
    except TooLong:
        return Outcome(record["id"], record["name"], "not read", "it takes too long")
    except Exception as problem:
        return Outcome(record["id"], record["name"], "not read", reason(problem))
    found = call(s, record)
    if found.outcome == "accepted":
        found.same = is_same(s, record)
    return found


def replay_trace(records: list[dict[str, Any]], seconds: float) -> Outcome:
    """Make the calls of a trace on one schedule; the outcome is that of the first one which is not accepted."""
    first = records[0]
    try:
        with clock(seconds):
            s = loaded(first["before"], first["func"])
    except (Exception, TooLong) as problem:
        return Outcome(first["id"], "trace", "not read", reason(problem))
    spent = 0.0
    for k, record in enumerate(records):
        try:
            with clock(seconds):
                found = call(s, record)
        except TooLong:
            found = Outcome(record["id"], record["name"], "refused", "it takes too long", seconds)
        spent += found.seconds
        if found.outcome != "accepted":
            why = f"call {k + 1} of {len(records)}, {record['name']}: {found.reason}"
            return Outcome(record["id"], "trace", found.outcome, why, spent)
    try:
        with clock(seconds):
            s.prove_race_free()
    except (ScheduleError, TooLong) as problem:
        return Outcome(first["id"], "trace", "refused", f"at the end: {reason(problem)}", spent)
    return Outcome(first["id"], "trace", "accepted", "", spent, is_same(s, records[-1]))


def call(s: Schedule, record: dict[str, Any]) -> Outcome:
    """Make a call on a schedule."""
    try:
        module = parse(record["before"])
        theirs = module[record["func"]] if isinstance(module, IRModule) else module
    except IRError:
        theirs = None
    found = Outcome(record["id"], record["name"], "accepted")
    primitive = getattr(s, OTHER_NAMES.get(record["name"], record["name"]), None)
    if primitive is None:
        return Outcome(record["id"], record["name"], "missing")
    start = time.perf_counter()
    try:
        arguments = [argument(s, a, theirs) for a in record["args"]]
        named = {k: argument(s, a, theirs) for k, a in record["kwargs"].items()}
        start = time.perf_counter()
        primitive(*arguments, **named)
    except ScheduleError as problem:
        word = re.search(r'reassociate="([^"]+)"', problem.reason)  # no search for a counterexample
        if word is not None and "reassociate" not in named:  # sums in another order need the user's word
            try:
                primitive(*arguments, **named, reassociate=word[1])
            except (ScheduleError, TooLong) as again:
                problem, word = again, None  # type: ignore[assignment]
        if word is None:
            found.outcome, found.reason = "refused", reason(problem)
    except TooLong:
        found.outcome, found.reason = "refused", "it takes too long"
    except Exception as problem:
        found.outcome, found.reason = "error", f"{type(problem).__name__}: {problem}"
    found.seconds = time.perf_counter() - start
    return found


def is_same(s: Schedule, record: dict[str, Any]) -> bool:
    """Whether the program is the one that TVM made, up to names and simplification."""
    try:
        theirs = loaded(record["after"], record["func"])
        if structural_equal(s.func, theirs.func):
            return True
        ours, other = (Simplify(canonical=True).run(x).after for x in (s, theirs))
        return structural_equal(ours, other)
    except (Exception, TooLong):
        return False


@contextmanager
def clock(seconds: float) -> Iterator[None]:
    """In the block, :class:`TooLong` is raised after so many seconds."""

    def stop(*_: object) -> None:
        raise TooLong

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def limited(record: dict[str, Any], seconds: float) -> Outcome:
    """The outcome of a call that may take so long."""
    try:
        with clock(seconds):
            return replay(record)
    except TooLong:
        return Outcome(record["id"], record["name"], "refused", "it takes too long", seconds)


def report(outcomes: list[Outcome]) -> None:
    """Print the tables."""
    print("| primitive | calls | accepted | the same program | refused | error | missing | not read |")
    print("|---|---|---|---|---|---|---|---|")
    names = sorted({o.primitive for o in outcomes})
    for name in (*names, "all"):
        own = [o for o in outcomes if name in ("all", o.primitive)]
        count = Counter(o.outcome for o in own)
        row = [len(own), count["accepted"], sum(o.same for o in own)]
        print(f"| {name} | " + " | ".join(map(str, (*row, *(count[k] for k in COLUMNS)))) + " |")
    for outcome in ("not read", "refused", "error"):
        print(f"\n{outcome}:")
        for (name, why), n in Counter(
            (o.primitive, o.reason[:150]) for o in outcomes if o.outcome == outcome
        ).most_common():
            print(f"  {n:3} × {name}: {why}")
    times = sorted(o.seconds * 1e3 for o in outcomes if o.outcome == "accepted")
    if times:
        print(f"\na step: median {statistics.median(times):.0f} ms, p95 {times[int(0.95 * len(times))]:.0f} ms, "
              f"greatest {times[-1]:.0f} ms")  # fmt: skip


COLUMNS = ("refused", "error", "missing", "not read")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--file", choices=("sched", "dlight"), default="", help="one of the two files")
    parser.add_argument("--only", default="", metavar="PRIMITIVE", help="calls of one primitive")
    parser.add_argument("--traces", action="store_true", help="all calls of a test, on one schedule")
    parser.add_argument("--seconds", type=float, default=20, help="what one call may take")
    parser.add_argument("--json", type=Path, help="write every outcome to this file, one object a line")
    parser.add_argument("--verbose", action="store_true", help="print each call that is not accepted")
    options = parser.parse_args()
    outcomes: list[Outcome] = []
    if options.traces:
        register_intrinsics(options.folder)
        for trace in traces(options.folder, options.file):
            outcomes.append(replay_trace(trace, options.seconds))
            if options.verbose and outcomes[-1].outcome != "accepted":
                print(outcomes[-1], file=sys.stderr, flush=True)
        report(outcomes)
        return 0
    if options.only in ("", "tensorize"):
        register_intrinsics(options.folder)
    for record in records(options.folder, options.file, options.only):
        try:
            outcomes.append(limited(record, options.seconds))
        except TooLong:  # the clock rang while a refusal was told
            outcomes.append(Outcome(record["id"], record["name"], "refused", "it takes too long", options.seconds))
        if options.verbose and outcomes[-1].outcome != "accepted":
            print(outcomes[-1], file=sys.stderr, flush=True)
    report(outcomes)
    if options.json:
        options.json.write_text("".join(json.dumps(asdict(o)) + "\n" for o in outcomes), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
