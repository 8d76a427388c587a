"""Which designs of TVM's tuner apply here: its search spaces for the standard workloads, trace by trace.

    python benchmarks/tvm_spaces.py [--target llvm] [--workloads GMM C2D ...] [--seconds 120]

Each design is the trace of a schedule that TVM's rules made, its sampling decided by TVM.  It is applied to the
workload as TVM gives it; the program must not race at the end.  Where a step puts a float sum into another order, and
is refused for that, the trace is applied again with the user's word for that sum: TVM does so without asking.
"""

from __future__ import annotations

import argparse
import json
import re
import time
import warnings
from collections.abc import Iterator
from typing import Any

import tvm.s_tir.tensor_intrin  # noqa: F401 (first: for each intrinsic, TVM looks through all modules that there are)
from tvm_calls import TooLong, clock, reason

from verified_tir.schedule.errors import ScheduleError
from verified_tir.schedule.schedule import Schedule
from verified_tir.schedule.trace import Trace

WORKLOADS = ("C1D", "C2D", "C3D", "CAP", "DEP", "DIL", "GMM", "GRP", "T2D", "NRM", "SFM", "CBR", "TBG")
TARGETS = {"llvm": "aws/cpu/c5.9xlarge", "cuda": "nvidia/geforce-rtx-3070"}


def designs(kind: str, workload: str) -> Iterator[tuple[str, Any]]:
    """The text of a workload, with the trace of each design that TVM makes for it."""
    from tvm.s_tir import meta_schedule as ms
    from tvm.s_tir.meta_schedule.testing.space_generation import generate_design_space
    from tvm.s_tir.meta_schedule.testing.te_workload import create_te_workload
    from tvm.target import Target

    module = create_te_workload(workload, 0)
    for schedule in generate_design_space(kind=kind, mod=module, target=Target(TARGETS[kind]), types=ms.ScheduleRule):
        yield module.script(), json.loads(json.dumps(schedule.trace.as_json(), default=lambda n: n.value))


def applied(text: str, trace: Any, seconds: float) -> tuple[str, list[str], float]:
    """Why a trace does not apply (empty if it does), the sums that come in another order, and how long it took."""
    words: list[str] = []
    while True:
        start = time.perf_counter()
        try:
            with clock(seconds):
                s = Schedule(text)
                Trace.from_json(trace).apply_to_schedule(s, reassociate=words)
                s.prove_race_free()
            return "", words, time.perf_counter() - start
        except TooLong:
            return "it takes too long", words, seconds
        except ScheduleError as problem:
            word = re.search(r'reassociate="([^"]+)"', problem.reason)
            if word is None or word[1] in words:
                return f"{problem.step}: {reason(problem)}", words, time.perf_counter() - start
            words.append(word[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", choices=tuple(TARGETS), default="llvm")
    parser.add_argument("--workloads", nargs="+", default=WORKLOADS, metavar="NAME")
    parser.add_argument("--seconds", type=float, default=120, help="what one trace may take")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    done = count = 0
    for workload in options.workloads:
        for k, (text, trace) in enumerate(designs(options.target, workload)):
            why, words, seconds = applied(text, trace, options.seconds)
            count, done = count + 1, done + (not why)
            print(f"{workload} {k}: {len(trace[0])} instructions, {seconds:.1f} s, "
                  f"{why or 'applies'}{' with ' + ', '.join(words) if words else ''}", flush=True)  # fmt: skip
    print(f"{done} of {count} apply")


if __name__ == "__main__":
    main()
