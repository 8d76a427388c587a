"""Targets for tests of the engine: each ends in one of the ways that there are."""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st

from verified_tir.fuzz.target import Disagreement, Observed

Numbers = list[int]


@dataclass(frozen=True)
class Toy:
    """Lists of numbers, and what is to happen with them."""

    name: str
    property: Callable[[Numbers], None]
    numbers: st.SearchStrategy[Numbers] = st.lists(st.integers(0, 1000), max_size=8)  # noqa: RUF009 (immutable)
    summary: str = "numbers are small"
    requires: Sequence[str] = ()

    def universe(self) -> Sequence[tuple[str, str]]:
        return [("length", str(n)) for n in range(12)]

    def cases(self) -> st.SearchStrategy[Numbers]:
        return self.numbers

    def check(self, case: Numbers, observed: Observed) -> None:
        observed.count("programs")
        observed.count("accepted" if len(case) % 2 else "refused")
        observed.cover("length", str(len(case)))
        if log := os.environ.get("TOY_LOG"):
            with Path(log).open("a") as file:
                file.write(f"{self.name} {case}\n")
        self.property(case)

    def as_test(self, case: Numbers, name: str) -> str:
        return (
            f'"""The numbers {case}."""\n\nfrom tests.fuzz.toys import {self.name.upper()}\n'
            f"from verified_tir.fuzz.target import Observed\n\n\ndef {name}() -> None:\n"
            f"    {self.name.upper()}.check({case}, Observed())\n"
        )


def _fine(case: Numbers) -> None:
    assert all(n >= 0 for n in case)


def _fails(case: Numbers) -> None:
    if sum(case) > 1500:
        raise Disagreement("too-large", "sum", f"{case} sums to {sum(case)}")


def _raises(case: Numbers) -> None:
    if any(n > 700 for n in case):
        {}[max(case)]


def _dies(case: Numbers) -> None:
    if any(n > 900 for n in case):
        os.kill(os.getpid(), signal.SIGSEGV)


def _hangs(case: Numbers) -> None:
    if any(n > 900 for n in case):
        with Path(os.environ.get("TOY_HANGING", os.devnull)).open("a") as file:
            fcntl.flock(file, fcntl.LOCK_SH)  # whoever can lock it alone knows that nobody hangs any more
            file.write(f"{os.getpid()}\n")
            file.flush()
            time.sleep(3600)


def _greedy(case: Numbers) -> None:
    if any(n > 900 for n in case):
        bytearray(1 << 40)


def _flaky(case: Numbers) -> None:
    """Fails once: in whatever process it is, not again."""
    flag = Path(os.environ["TOY_FLAG"])
    if len(case) > 2 and not flag.exists():
        flag.touch()
        raise Disagreement("once", "only", "and never again")


def _sleeps(case: Numbers) -> None:
    time.sleep(0.02)


def _rare(case: Numbers) -> None:
    """Fails for one list alone."""
    if str(case) == os.environ.get("TOY_RARE"):
        raise Disagreement("rare", "list", f"{case} is the one")


def _slow_rare(case: Numbers) -> None:
    _sleeps(case)
    _rare(case)


@st.composite
def _broken(draw: st.DrawFn) -> Numbers:
    n = draw(st.integers(0, 1000))
    if n > 500:
        raise LookupError("no such number")
    return [n]


FINE = Toy("fine", _fine)
FAILS = Toy("fails", _fails)
RAISES = Toy("raises", _raises)
DIES = Toy("dies", _dies)
HANGS = Toy("hangs", _hangs)
GREEDY = Toy("greedy", _greedy)
FLAKY = Toy("flaky", _flaky)
SLEEPS = Toy("sleeps", _sleeps)
RARE = Toy("rare", _rare)
SLOW_RARE = Toy("slow_rare", _slow_rare)
BROKEN = Toy("broken", _fine, _broken())
EMPTY = Toy("empty", _fine, st.nothing())
NEEDY = Toy("needy", _fine, requires=("no_such_module",))
