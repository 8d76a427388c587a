"""Where the time of a verification goes (``vtir verify --profile``).

A thread looks at the main thread's stack about every millisecond, and counts the time since it last looked for the part
of vtir that is at work.  Nothing is measured inside that part, and nothing is there at all without the option.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import defaultdict
from types import FrameType
from typing import Final, final

_INTERVAL: Final = 0.001

PARTS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("certificate", ("verified_tir.certificate",)),
    ("validator", ("verified_tir.validate", "verified_tir.schedule.second_opinion")),
    ("machine code", ("verified_tir.cli.to_llvm", "verified_tir.codegen", "verified_tir.lower")),
    ("search for an input", ("verified_tir.schedule.exhibit",)),
    (
        "replay and remedies",
        (
            "verified_tir.schedule.replay",
            "verified_tir.schedule.missing",
            "verified_tir.schedule.other_order",
            "verified_tir.schedule.remedies",
        ),
    ),
    ("report", ("verified_tir.report",)),
    ("solver", ("z3", "cvc5")),
    ("formulas", ("verified_tir.logic", "verified_tir.semantics")),
    ("reading programs", ("verified_tir.ir.script",)),
    ("kernel", ("verified_tir.kernel",)),
    (
        "tactics",
        (
            "verified_tir.schedule",
            "verified_tir.elaborate",
            "verified_tir.search",
            "verified_tir.index",
            "verified_tir.ir",
        ),
    ),
)
"""Parts of a verification, by the modules that are at work; the first that has one on the stack counts."""

OTHER: Final = "the file itself"


@final
class Profile:
    """Samples what runs in the thread that made it, from entering the block on."""

    def __init__(self) -> None:
        self._watched = threading.get_ident()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._sample, name="vtir profile", daemon=True)

    def __enter__(self) -> Profile:
        self._interval = sys.getswitchinterval()
        sys.setswitchinterval(_INTERVAL / 2)
        self._thread.start()
        return self

    def __exit__(self, *args: object) -> None:
        self._ends.set()
        self._thread.join()
        sys.setswitchinterval(self._interval)

    def take(self) -> tuple[tuple[str, float], ...]:
        """The parts with their seconds since the last call, the longest first."""
        seconds, self._seconds = self._seconds, defaultdict(float)
        return tuple(sorted(seconds.items(), key=lambda part: -part[1]))

    def _sample(self) -> None:
        last = time.perf_counter()
        while not self._ends.wait(_INTERVAL):
            frame = sys._current_frames().get(self._watched)
            now = time.perf_counter()
            self._seconds[part_of(frame)] += now - last
            last = now


def part_of(frame: FrameType | None) -> str:
    """The part that is at work in a stack."""
    modules = set()
    while frame is not None:
        modules.add(str(frame.f_globals.get("__name__", "")))
        frame = frame.f_back
    modules.discard("verified_tir.schedule.registry")  # which calls the functions of files
    for part, names in PARTS:
        if any(m == n or m.startswith((f"{n}.", f"{n}_")) for m in modules for n in names):
            return part
    return OTHER
