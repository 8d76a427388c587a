"""How many planted faults the fuzzer's kernel target finds, and how fast.

    python -m benchmarks.kernel_faults --seconds 60 --every 20          every twentieth mutant of the kernel
    python -m benchmarks.kernel_faults --seconds 300 --only rules/reorder
    python -m benchmarks.kernel_faults --json

Each fault is put into a process of its own, which draws and checks cases until one fails or its time is over: of
processor time, so that other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz.targets.kernel import TARGET
from tests.mutation.listing import select
from tests.mutation.mutant import Mutant
from tests.mutation.swap import CannotSwap, swap
from verified_tir.fuzz.target import Disagreement, Observed
from verified_tir.kernel import context

ROOT = Path(__file__).resolve().parents[1]
FORGOTTEN = ("_effects_cache",)


def faults(only: str) -> Iterator[Mutant]:
    """What is planted: changes after which the kernel accepts more."""
    found = select(ROOT, ["verified_tir/kernel"])
    return (m for m in found if m.effect == "weaker" and only in f"{m.file} {m.id}")


def hunt(seconds: float, first: int) -> tuple[str, float] | None:
    """Check cases until one fails: what failed, and after how long; ``None`` if the time is over."""
    warnings.simplefilter("ignore")
    start, observed = time.process_time(), Observed()
    found: list[tuple[str, float]] = []
    turn = 0

    def over() -> bool:
        return bool(found) or time.process_time() - start > seconds

    while not over():

        @seed(first * 100_000 + turn)
        @settings(
            max_examples=50, deadline=None, database=None, suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],
        )  # fmt: skip
        @given(TARGET.cases())
        def one(case: Any) -> None:
            if over():
                return
            try:
                TARGET.check(case, observed)
            except Disagreement as problem:
                found.append((f"{problem.kind} ({problem.where})", time.process_time() - start))
            except Exception as crash:
                found.append((f"{type(crash).__name__}: {str(crash)[:60]}", time.process_time() - start))

        one()
        turn += 1
    return found[0] if found else None


def planted(mutant: Mutant, seconds: float, first: int) -> dict[str, Any]:
    """What a process with the fault in it finds."""
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            swap(mutant, (ROOT / mutant.file).read_bytes())
            for name in FORGOTTEN:
                getattr(context, name).clear()
            result = hunt(seconds, first)
            said: dict[str, Any] = {"found": result and result[0], "seconds": result and round(result[1], 1)}
        except CannotSwap:
            said = {"found": None, "seconds": None, "cannot": "it takes a fresh process"}
        except BaseException as problem:
            said = {"found": None, "seconds": None, "cannot": f"{type(problem).__name__}: {problem}"}
        os.write(into, json.dumps(said).encode())
        os._exit(0)
    os.close(into)
    with os.fdopen(out, "rb") as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    return {"fault": mutant.id, "file": mutant.file, **(json.loads(text) if text else {"found": "the process died"})}


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Measure which planted faults the kernel target finds.")
    parser.add_argument("--seconds", type=float, default=60, help="processor time for each fault")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="faults whose file or name contains this text")
    parser.add_argument("--json", action="store_true", help="one line of JSON for each fault")
    parser.add_argument("--every", type=int, default=1, help="only every so manyeth fault")
    wanted = parser.parse_args()
    results = []
    for mutant in list(faults(wanted.only))[:: wanted.every]:
        result = planted(mutant, wanted.seconds, wanted.seed)
        results.append(result)
        said = result.get("found") or result.get("cannot") or "not found"
        line = f"{result.get('seconds')!s:>6} {result['fault']:70} {said}"
        print(json.dumps(result) if wanted.json else line, flush=True)
    tried = [r for r in results if "cannot" not in r]
    print(f"{sum(bool(r['found']) for r in tried)} of {len(tried)} found", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
