"""How long verification takes: for each primitive the time in the solver and the whole time.

    python benchmarks/verify_speed.py              a table; exit code 1 if a target is missed
    python benchmarks/verify_speed.py --json       the same figures for programs
    python benchmarks/verify_speed.py --runs 9     more runs
    python benchmarks/verify_speed.py --wall       wall time instead of processor time
    python benchmarks/verify_speed.py --command    "vtir verify examples/" as a whole: cache and second opinion

Everything runs on one thread, so processor time is what a machine with nothing else to do would take; on a busy one
wall time measures the others.

A run is a fresh process that imports everything first, then verifies every schedule once, with a solver and a cache of
its own for each.  Runs rotate the order of the schedules.  A figure is the median over the runs.  Process start and
imports are not counted; the import itself is measured in processes of its own.

A step that is refused, as its schedule expects, counts as a step too; its time includes the replay.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

PROOF_TARGET = 0.010
"""Median time in the solver of one primitive, in seconds."""
IMPORT_TARGET = 0.3
"""Seconds to import what a schedule file imports."""
TOTALS = {"row_summation.padded": 0.5, "matmul.tiled_in_three_levels": 1.0}
"""Whole time of a schedule, in seconds."""

COPY = """
@T.prim_func
def copy(a: T.handle, b: T.handle, m: T.int32, n: T.int32):
    A = T.match_buffer(a, (m, n), "float32")
    B = T.match_buffer(b, (m, n), "float32")
    for i, j in T.grid(m, n):
        B[i, j] = A[i, j]
"""

CONVOLUTION = """
@T.prim_func
def convolution(X: T.Buffer((1, 30, 30, 16), "float32"), W: T.Buffer((3, 3, 16, 32), "float32"),
                Y: T.Buffer((1, 28, 28, 32), "float32")):
    for n, h, w, c, rh, rw, rc in T.grid(1, 28, 28, 32, 3, 3, 16):
        with T.block("conv"):
            vn, vh, vw, vc, vrh, vrw, vrc = T.axis.remap("SSSSRRR", [n, h, w, c, rh, rw, rc])
            with T.init():
                Y[vn, vh, vw, vc] = T.float32(0)
            Y[vn, vh, vw, vc] = Y[vn, vh, vw, vc] + X[vn, vh + vrh, vw + vrw, vrc] * W[vrh, vrw, vrc, vc]
"""


def _transpose_symbolic(s: Any) -> None:
    i, j = s.loops()
    io, jo, ii, ji = s.tile(i, j, factors=[32, 32])
    s.reorder(io, jo, ji, ii)
    s.parallel(io)


def _flatten(s: Any) -> None:
    i, j = s.loops()
    both = s.fuse(i, j)
    _, inner = s.split(both, [None, 8])
    s.vectorize(inner)


def _convolution(s: Any) -> None:
    _, h, w, c, *reduction = s.loops("conv")
    wo, wi = s.split(w, [None, 4])
    co, ci = s.split(c, [None, 8])
    s.reorder(h, wo, co, *reduction, wi, ci)
    s.vectorize(ci)
    s.unroll(wi)
    s.parallel(h)


BUILT_IN: dict[str, tuple[str, Callable[[Any], None]]] = {
    "builtin.transpose_symbolic": (COPY, _transpose_symbolic),
    "builtin.flatten": (COPY.replace("m: T.int32, n: T.int32", "m: T.int32").replace("n)", "24)"), _flatten),
    "builtin.convolution": (CONVOLUTION, _convolution),
}


@dataclass
class Job:
    """A schedule to verify: its name, its program, and what it does."""

    name: str
    program: Any
    function: Callable[[Any], object]
    expect: str = "proved"


def jobs() -> list[Job]:
    """The schedules of ``examples/`` and the built-in ones."""
    from verified_tir.schedule.registry import collecting

    found = [Job(name, program, function) for name, (program, function) in BUILT_IN.items()]
    for file in sorted((ROOT / "examples").glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"example_{file.stem}", file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        with collecting() as made:
            spec.loader.exec_module(module)
        found += [Job(f"{file.stem}.{f.name}", f.program, f.function, f.expect) for f in made]
    return found


@dataclass
class Asked:
    """What the solver has been asked so far in this process: seconds in Z3, and queries that were not cached."""

    seconds: float = 0.0
    queries: int = 0


def watch_solver(clock: Callable[[], float]) -> Asked:
    """Count the time in every query to Z3, from its text to the verdict."""
    from verified_tir.logic.solver import Solver

    asked = Asked()
    ask = Solver.ask

    def timed(self: Any, *args: Any, **named: Any) -> Any:
        before, start = self.statistics.queries, clock()
        try:
            return ask(self, *args, **named)
        finally:
            asked.seconds += clock() - start
            asked.queries += self.statistics.queries - before

    Solver.ask = timed  # type: ignore[method-assign]
    return asked


def verify(job: Job, asked: Asked, clock: Callable[[], float]) -> list[dict[str, Any]]:
    """One schedule, from its program to its last step: name, proof time and whole time of each step."""
    from verified_tir.schedule.errors import ScheduleError
    from verified_tir.schedule.schedule import Schedule

    steps: list[dict[str, Any]] = []

    def note(step: str, start: float, solver: float, queries: int) -> None:
        whole, proof = clock() - start, asked.seconds - solver
        steps.append({"step": step, "whole": whole, "proof": proof, "queries": asked.queries - queries})

    class Timed(Schedule):
        """A schedule that notes the time of every primitive, refused ones included."""

        def _do(self, name: str, arguments: Sequence[object], tactic: Callable[[Any], Any]) -> Any:
            begun = clock(), asked.seconds, asked.queries
            try:
                return super()._do(name, arguments, tactic)
            finally:
                note(name, *begun)

    begun = clock(), asked.seconds, asked.queries
    made = Timed(job.program)
    note("program", *begun)
    try:
        job.function(made)
        refused = False
    except ScheduleError:
        refused = True
    if refused != (job.expect == "refused"):
        raise SystemExit(f"{job.name} was {'refused' if refused else 'proved'}, which is not expected")
    return steps


def one_run(rotation: int, clock: Callable[[], float]) -> dict[str, list[dict[str, Any]]]:
    """All schedules once, in this process."""
    import islpy  # noqa: F401
    import z3

    z3.parse_smt2_string("(assert true)")
    work = jobs()
    asked = watch_solver(clock)
    verify(Job("warm-up", COPY, _transpose_symbolic), asked, clock)
    k = rotation % len(work)
    return {job.name: verify(job, asked, clock) for job in [*work[k:], *work[:k]]}


def _child(*arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "VTIR_VERDICT_CACHE": "off"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # a user's second run finds the modules compiled
    return subprocess.run(
        [sys.executable, *arguments], check=True, capture_output=True, text=True, env=environment, cwd=ROOT
    ).stdout


IMPORT = """
import sys, time
clock = getattr(time, sys.argv[1])
start = clock()
from verified_tir import Schedule, ScheduleError, schedule
from verified_tir.script import tir
seconds = clock() - start
assert not {"tvm", "sphinx"} & set(sys.modules), "too much was imported"
print(seconds)
"""


def measure(runs: int, clock: str) -> dict[str, Any]:
    """All figures: medians over the runs, which alternate with measurements of the import."""
    results, imports = [], []
    _child("-c", IMPORT, clock)
    for k in range(runs):
        results.append(json.loads(_child(str(Path(__file__).resolve()), "--child", str(k), "--clock", clock)))
        imports.append(float(_child("-c", IMPORT, clock)))
    schedules = {}
    for name, first in results[0].items():
        per_run = [r[name] for r in results]
        steps = [
            {
                "step": step["step"],
                "proof": statistics.median(r[k]["proof"] for r in per_run),
                "whole": statistics.median(r[k]["whole"] for r in per_run),
                "queries": step["queries"],
            }
            for k, step in enumerate(first)
        ]
        total = statistics.median(sum(x["whole"] for x in r) for r in per_run)
        proof = statistics.median(sum(x["proof"] for x in r) for r in per_run)
        schedules[name] = {"steps": steps, "total": total, "proof": proof}
    tactics = [x for s in schedules.values() for x in s["steps"] if x["step"] != "program"]
    return {
        "runs": runs,
        "clock": clock,
        "import": statistics.median(imports),
        "tactics": len(tactics),
        "median proof": statistics.median(x["proof"] for x in tactics),
        "median whole": statistics.median(x["whole"] for x in tactics),
        "schedules": dict(sorted(schedules.items())),
    }


def missed(figures: dict[str, Any]) -> list[str]:
    """The targets that the figures miss."""
    found = []
    if figures["median proof"] > PROOF_TARGET:
        found.append(f"median proof time {figures['median proof'] * 1e3:.1f} ms, target {PROOF_TARGET * 1e3:.0f} ms")
    if figures["import"] > IMPORT_TARGET:
        found.append(f"import {figures['import']:.2f} s, target {IMPORT_TARGET} s")
    for name, target in TOTALS.items():
        total = figures["schedules"][name]["total"]
        if total > target:
            found.append(f"{name} {total:.2f} s, target {target} s")
    return found


def show(figures: dict[str, Any]) -> None:
    """The table."""
    print(f"{'schedule / step':48} {'proof ms':>9} {'whole ms':>9} {'queries':>8}")
    for name, s in figures["schedules"].items():
        print(f"{name:48} {s['proof'] * 1e3:9.1f} {s['total'] * 1e3:9.1f}")
        for step in s["steps"]:
            print(f"    {step['step']:44} {step['proof'] * 1e3:9.1f} {step['whole'] * 1e3:9.1f} {step['queries']:8}")
    print()
    kind = "processor time" if figures["clock"] == "process_time" else "wall time"
    print(f"{kind}, median over {figures['tactics']} primitives, of medians over {figures['runs']} runs:")
    print(f"    proof {figures['median proof'] * 1e3:.1f} ms   whole {figures['median whole'] * 1e3:.1f} ms")
    print(f"import: {figures['import'] * 1e3:.0f} ms")
    for line in missed(figures) or ["all targets met"]:
        print(line)


COMMANDS: dict[str, tuple[str, ...]] = {
    "neither cache nor second opinion": ("--no-cache", "--no-validate"),
    "second opinion": ("--no-cache",),
    "cache, empty": (),
    "cache, filled": (),
}
"""Ways to run ``vtir verify``, in this order."""


def measure_command(runs: int, clock: str) -> dict[str, float]:
    """Seconds of a whole ``vtir verify examples/``, its imports included: medians over the runs.

    Each run takes all ways in turn; the last two share a folder, which is new for each run.
    """
    taken: dict[str, list[float]] = {name: [] for name in COMMANDS}
    code = "from verified_tir.cli.main import main; main()"
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "PYTHONPATH": str(ROOT), "VTIR_CACHE_DIR": folder, "VTIR_VERDICT_CACHE": "on"}
            for name, options in COMMANDS.items():
                command = [sys.executable, "-c", code, "verify", "-q", "examples/", *options]
                before = _spent(clock)
                subprocess.run(command, check=True, capture_output=True, env=environment, cwd=ROOT)
                taken[name].append(_spent(clock) - before)
    return {name: statistics.median(times) for name, times in taken.items()}


def _spent(clock: str) -> float:
    """Processor time of all finished children, or the time on the wall."""
    if clock == "perf_counter":
        return time.perf_counter()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    """The command; gives the exit code."""
    parser = argparse.ArgumentParser(description="Measure how long verification takes.")
    parser.add_argument("--runs", type=int, default=5, help="fresh processes to take the median over")
    parser.add_argument("--json", action="store_true", help="print JSON, times in seconds")
    parser.add_argument(
        "--wall", dest="clock", action="store_const", const="perf_counter", default="process_time", help="wall time"
    )
    parser.add_argument("--clock", help=argparse.SUPPRESS)
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--command", action="store_true", help="measure vtir verify as a whole")
    options = parser.parse_args()
    if options.child is not None:
        print(json.dumps(one_run(options.child, getattr(time, options.clock))))
        return 0
    if options.runs < 1:
        parser.error("at least one run is needed")
    if options.command:
        seconds = measure_command(options.runs, options.clock)
        print(
            json.dumps(seconds, indent=1)
            if options.json
            else "\n".join(f"{n:36} {s:6.2f} s" for n, s in seconds.items())
        )
        return 0
    figures = measure(options.runs, options.clock)
    if options.json:
        print(json.dumps(figures, indent=1))
    else:
        show(figures)
    return 1 if missed(figures) else 0


if __name__ == "__main__":
    sys.exit(main())
