"""Faults planted in the compiler, which the targets must find: the test of a fuzzer.

A fault is a change of one line of one module, made while it is imported, in a process of its own.

    python -m tests.fuzz.changed_source                     all faults, with the processor's seconds until each is found
    python -m tests.fuzz.changed_source codegen             those of one target
    python -m tests.fuzz.changed_source simplify "a box*"
"""

from __future__ import annotations

import fnmatch
import importlib.abc
import importlib.machinery
import subprocess
import sys
import time
import types
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.changed_lines import FAULTS, Fault
from verified_tir.durations import duration

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60.0


class _Loader(importlib.machinery.SourceFileLoader):
    fault: Fault

    def get_code(self, fullname: str) -> types.CodeType:
        source = self.get_data(self.path).decode()
        if source.count(self.fault.old) != 1:
            raise AssertionError(f"{self.fault.name}: {self.fault.old!r} is not once in {fullname}")
        return compile(source.replace(self.fault.old, self.fault.new), self.path, "exec", dont_inherit=True)


@dataclass
class _Finder(importlib.abc.MetaPathFinder):
    fault: Fault

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self.fault.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        assert spec is not None and spec.origin is not None
        spec.loader = _Loader(name, spec.origin)
        spec.loader.fault = self.fault
        return spec


class _Enough(KeyboardInterrupt):
    """Hypothesis ends at once for a ``KeyboardInterrupt``."""


def find(fault: Fault, seconds: float, seed: int) -> str | None:
    """What the target says first, in this process, which has the fault from now on; ``None`` if time is over."""
    sys.meta_path.insert(0, _Finder(fault))
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as with_seed
    from hypothesis import strategies as st

    from verified_tir.fuzz.registry import load
    from verified_tir.fuzz.target import Disagreement, Observed

    target = load(fault.target)
    cases = target.cases()
    begun, observed = time.process_time(), Observed()
    said: list[str] = []

    def one(data: st.DataObject) -> None:
        case = data.draw(cases)  # first: Hypothesis minds if fewer choices are made than before
        if said or time.process_time() - begun > seconds:
            raise _Enough
        try:
            target.check(case, observed)
        except Disagreement as found:
            said.append(str(found))
        except Exception as found:
            said.append(f"{type(found).__name__}: {found}")

    turn = 0
    while not said and time.process_time() - begun < seconds:
        chosen = settings(
            max_examples=50, deadline=None, database=None, phases=(Phase.generate,), derandomize=False,
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        with suppress(_Enough):
            with_seed(1000 * seed + turn)(chosen(given(st.data())(one)))()
        turn += 1
    took = time.process_time() - begun
    return f"{duration(took)}: {said[0]}" if said else None


def found(fault: Fault, seconds: float = SECONDS, seed: int = 1) -> str | None:
    """What the target says first, in a process of its own."""
    module = "tests.fuzz.changed_source"
    command = [sys.executable, "-W", "ignore", "-m", module, "--find", fault.name, str(seconds), str(seed)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode < 0:
        return f"the process ended with signal {-done.returncode}"
    if done.returncode not in (0, 3):
        raise AssertionError(done.stderr)
    return done.stdout.strip() if done.returncode == 0 else None


def main(arguments: list[str]) -> int:
    if arguments and arguments[0] == "--find":
        fault = next(f for f in FAULTS if f.name == arguments[1])
        said = find(fault, float(arguments[2]), int(arguments[3]))
        print(said or "")
        return 0 if said else 3
    target, pattern = [*arguments, "*", "*"][:2]
    missed = 0
    for fault in FAULTS:
        if fnmatch.fnmatch(fault.target, target) and fnmatch.fnmatch(fault.name, pattern):
            try:
                said = found(fault)
            except AssertionError as problem:
                said = f"BROKEN {str(problem).strip().splitlines()[-1]}"
            missed += said is None
            first = (said or "NOT FOUND").splitlines()[0][:110]
            print(f"{fault.target:9} {fault.name:45} {first}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
