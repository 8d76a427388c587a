"""How many refutations a replay confirms, over random steps on random programs.

    python benchmarks/confirmed_refutations.py                     a table for each primitive
    python benchmarks/confirmed_refutations.py --seed 7 --count 500
    python benchmarks/confirmed_refutations.py --list              the unconfirmed ones too, with their programs
    python benchmarks/confirmed_refutations.py --json

A step is accepted, refuted, undecided, or does not apply.  A refuted one is confirmed if running the programs before
and after it shows another result, undefined behaviour, or two iterations of a marked loop that conflict.  What is not
confirmed may be right (the obligation asks for more than is needed here) or wrong in a way that no input tried shows.

The count is of programs; on each, up to four steps are tried one after the other.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from random import Random

from random_schedules import PRIMITIVES, program, step

from verified_tir import NotApplicable, Refuted, Schedule, ScheduleError
from verified_tir.schedule.errors import Undecided

STEPS = 4
"""How many steps are tried on one program."""
KINDS = ("accepted", "confirmed", "unconfirmed", "undecided", "does not apply")


@dataclass
class Tally:
    """What became of the steps, by primitive; and each refutation that was not confirmed."""

    counts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    unconfirmed: list[tuple[str, Refuted]] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, primitive: str, title: str, refusal: ScheduleError | None) -> None:
        """One step, with its refusal if it was refused."""
        match refusal:
            case None:
                kind = "accepted"
            case Refuted():
                kind = "confirmed" if refusal.confirmed else "unconfirmed"
                if not refusal.confirmed:
                    self.unconfirmed.append((title, refusal))
            case Undecided():
                kind = "undecided"
            case NotApplicable():
                kind = "does not apply"
            case _:
                raise AssertionError(f"a refusal of an unknown kind: {refusal!r}")
        self.counts[primitive][kind] += 1

    def total(self) -> Counter[str]:
        return sum(self.counts.values(), Counter())

    def reasons(self) -> Counter[str]:
        """Why the unconfirmed were refused: the name of the obligation and what the replay said."""
        return Counter(
            f"{r.obligation.name if r.obligation else '?'}: {r.replay.message if r.replay else 'not replayed'}"
            for _, r in self.unconfirmed
        )


def measure(seed: int, count: int, names: tuple[str, ...]) -> Tally:
    """Steps on ``count`` random programs, the k-th of which depends on the seed and on k only."""
    tally = Tally()
    start = time.process_time()
    for k in range(count):
        rng = Random(f"{seed} {k}")
        text = program(rng)
        wanted = [step(rng, names) for _ in range(rng.randint(1, STEPS))]
        try:
            s = Schedule(text)
        except ScheduleError as refusal:
            tally.add("(the program itself)", f"{k}", refusal)
            continue
        tally.add("(the program itself)", f"{k}", None)
        for one in wanted:
            try:
                one.take(s)
            except ScheduleError as refusal:
                tally.add(one.name, f"{k} {one}", refusal)
            else:
                tally.add(one.name, f"{k} {one}", None)
    tally.seconds = time.process_time() - start
    return tally


def share(counts: Counter[str]) -> float | None:
    """Confirmed among refuted; ``None`` where nothing was refuted."""
    refuted = counts["confirmed"] + counts["unconfirmed"]
    return counts["confirmed"] / refuted if refuted else None


def show(tally: Tally) -> None:
    """The table, and why what is unconfirmed was refused."""
    print(f"{'primitive':38}" + "".join(f"{kind:>15}" for kind in KINDS) + f"{'share':>8}")
    rows = [(name, tally.counts[name]) for name in ("(the program itself)", *PRIMITIVES) if name in tally.counts]
    for name, counts in (*rows, ("all", tally.total())):
        part = share(counts)
        last = "" if part is None else f"{part:.1%}"
        print(f"{name:38}" + "".join(f"{counts[kind]:15}" for kind in KINDS) + f"{last:>8}")
    print(f"\n{tally.seconds:.0f} s.  Not confirmed:")
    for reason, times in tally.reasons().most_common():
        print(f"{times:6}  {reason}")


def main() -> int:
    """The command; gives the exit code."""
    parser = argparse.ArgumentParser(description="Measure how many refutations are confirmed.")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other programs")
    parser.add_argument("--count", type=int, default=300, help="how many programs")
    parser.add_argument("--only", action="append", choices=list(PRIMITIVES), help="this primitive (may be repeated)")
    parser.add_argument("--list", action="store_true", help="print each unconfirmed refutation")
    parser.add_argument("--json", action="store_true", help="print JSON")
    wanted = parser.parse_args()
    tally = measure(wanted.seed, wanted.count, tuple(wanted.only or PRIMITIVES))
    if wanted.json:
        print(json.dumps({"share": share(tally.total()), "counts": tally.counts, "reasons": tally.reasons()}, indent=1))
        return 0
    show(tally)
    if wanted.list:
        for title, refusal in tally.unconfirmed:
            print(f"\n=== {title}\n{refusal}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
