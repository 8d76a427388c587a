"""What another compiler's passes achieve, and what the passes of the same purpose achieve here.

    python benchmarks/tvm_passes.py FOLDER [--only KIND] [--seconds 60] [--json FILE] [--verbose]

``FOLDER`` has recordings (``*.jsonl.gz``; ``record_tvm_passes.py`` makes them from TVM's tests): one JSON object a
line with the pass's name ``kind``, the programs ``before`` and ``after``, perhaps its options ``config``.  Our pass is
run on ``before``, and what it makes is compared with ``after``.  A case is

* *the same*: the programs are equal up to names, labels of blocks and simplification;
* *as good*: they are not, but the validator says that they are equal, and by what the pass is for ours is at least as
  good: no more conditions, stores or loops, no more memory, no more dimensions (:data:`KINDS`);
* *weaker*: ours is correct, but leaves something that TVM's does not (the table says what);
* *unchanged*: weaker, and nothing was changed at all;
* *refused*, with the reason, or *not read*: the program before is refused or cannot be parsed, as illegal programs are
  (one that is legal for small integer arguments only is taken with these);
* *not judged*: the programs differ, and the validator does not decide whether they are equal.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tvm_measures import MEASURES

from verified_tir.ir import PrimFunc, structural_equal
from verified_tir.ir.dtype import PointerType
from verified_tir.ir.script import parse, script
from verified_tir.ir.stmt import Assume, seq
from verified_tir.ir.sugar import all_of
from verified_tir.lower import (
    CompactBuffer,
    FlattenBuffer,
    HoistExpression,
    InjectDoubleBuffer,
    InjectVirtualThread,
    LoopPartition,
    LowerInitBlock,
    LowerThreadAllreduce,
    MakePackedAPI,
    Pipeline,
    RemoveAssume,
    RemoveBranchingThroughOvercompute,
    RemoveNoOp,
    RemoveStoreUndef,
    Simplify,
    StorageRewrite,
    UnrollLoop,
    VectorizeLoop,
)  # fmt: skip
from verified_tir.schedule.errors import ScheduleError
from verified_tir.schedule.schedule import Schedule
from verified_tir.validate.meaning import closed
from verified_tir.validate.pairs import WORDS, Budget, TimeIsUp, bounded, judge

Options = Mapping[str, int]
OUTCOMES = ("the same", "as good", "weaker", "unchanged", "refused", "not judged", "not read")
EQUAL = ("equal", "equal at sizes", "vacuous", "races unknown", "equal in part", "equal over the reals")
"""What the validator says of programs that it takes for equal."""
BUDGET = Budget(2_000_000, 20.0)
SHAPE = ("conditions", "statements", "loads", "size")
"""What simplification makes smaller."""


@dataclass(frozen=True)
class Kind:
    """Our passes for one of TVM's, made from its options, and the measures by which the results are compared."""

    make: Callable[[Options], Pipeline]
    goals: tuple[str, ...]


def _hoist(options: Options) -> Pipeline:
    conditionals, lets = options.get("hoisted_conditionals", 15), options.get("hoisted_let_bindings", 7)
    return HoistExpression(conditionals & 7, lets) >> Simplify() >> RemoveNoOp()


def _overcompute(_: Options) -> Pipeline:
    return RemoveBranchingThroughOvercompute() >> Simplify()


def _unroll(options: Options) -> Pipeline:
    return Pipeline(
        UnrollLoop(
            max_extent=options.get("auto_max_extent", 0),
            auto_max_step=options.get("auto_max_step", 0),
            auto_max_depth=options.get("auto_max_depth", 8),
            explicit_unroll=bool(options.get("explicit_unroll", 1)),
            unroll_local_access=bool(options.get("unroll_local_access", 0)),
        )
    )


KINDS: dict[str, Kind] = {
    "tirx.StmtSimplify": Kind(lambda _: Pipeline(Simplify()), SHAPE),
    "s_tir.StmtSimplify": Kind(lambda _: Pipeline(Simplify()), SHAPE),
    "s_tir.CompactBufferAllocation": Kind(lambda _: Pipeline(CompactBuffer()), ("bytes",)),
    "tirx.FlattenBuffer": Kind(lambda _: Pipeline(FlattenBuffer()), ("dimensions",)),
    "tirx.StorageRewrite": Kind(lambda _: Pipeline(StorageRewrite()), ("bytes",)),
    "tirx.VectorizeLoop": Kind(lambda _: Pipeline(VectorizeLoop()), ("marked", "loops", "conditions")),
    "s_tir.LoopPartition": Kind(lambda _: LoopPartition() >> Simplify(), ("decisions",)),
    "tirx.RemoveNoOp": Kind(lambda _: Pipeline(RemoveNoOp()), ("statements", "stores", "loops")),
    "tirx.UnrollLoop": Kind(_unroll, ("loops",)),
    "s_tir.HoistExpression": Kind(_hoist, ("decisions", "lets")),
    "s_tir.HoistIfThenElse": Kind(lambda _: HoistExpression() >> Simplify() >> RemoveNoOp(), ("decisions",)),
    "s_tir.LowerInitBlock": Kind(lambda _: Pipeline(LowerInitBlock()), ("statements",)),
    "s_tir.InjectDoubleBuffer": Kind(lambda _: Pipeline(InjectDoubleBuffer(prefetch=True)), ("marks",)),
    "s_tir.InjectVirtualThread": Kind(lambda _: Pipeline(InjectVirtualThread()), ("marks",)),
    "s_tir.LowerThreadAllreduce": Kind(lambda _: Pipeline(LowerThreadAllreduce()), ("marks",)),
    "s_tir.RemoveStoreUndef": Kind(lambda _: Pipeline(RemoveStoreUndef()), ("stores",)),
    "tirx.RemoveAssume": Kind(lambda _: Pipeline(RemoveAssume()), ("statements",)),
    "tir.ReduceBranchingThroughOvercompute": Kind(_overcompute, ("conditions",)),
    "tirx.MakePackedAPI": Kind(lambda _: Pipeline(MakePackedAPI()), ()),
}
"""By TVM's names."""

SMALL = 2**15
"""What integer arguments are taken to be at most, where a program could overflow otherwise."""
NORMAL = LowerInitBlock() >> Simplify(canonical=True)


class TooLong(BaseException):
    """A case took longer than it may."""


@dataclass
class Outcome:
    """What became of one case."""

    id: str
    kind: str
    outcome: str
    reason: str = ""
    seconds: float = 0.0
    ours: str = field(default="", repr=False)
    before: str = field(default="", repr=False)
    after: str = field(default="", repr=False)


def records(folder: Path, only: str) -> Iterator[dict[str, Any]]:
    """The distinct applications of passes that there are here, too."""
    seen: set[str] = set()
    for file in sorted(folder.glob("*.jsonl.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line)
                key = json.dumps([record["kind"], record["before"], record.get("config")])
                wanted = record["kind"] in KINDS and record["after"] and record.get("level", "pass") == "pass"
                if wanted and only in record["kind"] and key not in seen:
                    seen.add(key)
                    yield record


def functions(text: str) -> dict[str, PrimFunc]:
    """The functions of a module, by name."""
    found = parse(text)
    return {found.name: found} if isinstance(found, PrimFunc) else dict(found.functions)


def options_of(record: Mapping[str, Any]) -> dict[str, int]:
    """The numbers and switches of the pass's own options."""
    text = (record.get("config") or {}).get(record["kind"], "")
    value = {"True": 1, "False": 0}
    return {k: value[v] if v in value else int(v) for k, v in re.findall(r"(\w+)=(True|False|\d+)", text)}


def replay(record: dict[str, Any]) -> Outcome:
    """Run our pass on the program of a record, each function of it; the worst outcome is told."""
    kind, found = record["kind"], []
    try:
        mine, theirs = functions(record["before"]), functions(record["after"])
    except Exception as problem:
        return Outcome(record["id"], kind, "not read", reason(problem))
    for name, func in mine.items():
        found.append(_replayed(record, *closed(func, theirs.get(name) or next(iter(theirs.values())))))
    return max(found, key=lambda o: OUTCOMES.index(o.outcome))


def _replayed(record: dict[str, Any], before: PrimFunc, theirs: PrimFunc) -> Outcome:
    kind = KINDS[record["kind"]]
    case = Outcome(record["id"], record["kind"], "the same", before=record["before"], after=record["after"])
    passes = kind.make(options_of(record))
    try:
        s = Schedule(before)
    except Exception as problem:
        try:
            s = Schedule(bounded_scalars(before))
            passes = passes >> RemoveAssume()
        except Exception:
            case.outcome, case.reason = "not read", reason(problem)
            return case
    start = time.perf_counter()
    try:
        ours = passes.run(s).after
    except ScheduleError as problem:
        case.outcome, case.reason = "refused", reason(problem)
        return case
    except Exception as problem:
        case.outcome, case.reason = "refused", f"{type(problem).__name__}: {problem}"
        return case
    finally:
        case.seconds = time.perf_counter() - start
    case.ours = script(ours)
    compare(case, kind, s.func, ours, theirs)
    return case


def bounded_scalars(func: PrimFunc) -> PrimFunc:
    """The function with the assumption that its integer arguments are small: TVM takes for granted that arithmetic with
    them does not overflow.

    :raises ValueError: if it has none.
    """
    scalars = [v for v in func.params if not isinstance(v.type, PointerType) and v.dtype.is_int and v.dtype.bits >= 32]
    if not scalars:
        raise ValueError("no integer argument")
    small = all_of([c for v in scalars for c in (v >= -SMALL, v <= SMALL)])
    return func.with_body(seq(Assume(small), func.body))


def compare(case: Outcome, kind: Kind, before: PrimFunc, ours: PrimFunc, theirs: PrimFunc) -> None:
    """Say how our program and theirs compare."""
    if structural_equal(ours, theirs):
        return
    mine, other = normal(ours), normal(theirs)
    if structural_equal(mine, other):
        return
    try:
        with bounded(BUDGET.seconds):
            verdict = judge("", ours, theirs, {}, BUDGET)
            if verdict.word not in EQUAL:  # what is undefined in one may be something in the other
                verdict = min(verdict, judge("", theirs, ours, {}, BUDGET), key=lambda j: WORDS.index(j.word))
    except TimeIsUp:
        case.outcome, case.reason = "not judged", f"the validator takes more than {BUDGET.seconds:g} seconds"
        return
    if verdict.word in EQUAL:
        left = {m: (MEASURES[m](mine), MEASURES[m](other)) for m in kind.goals}
        worse = [f"{m} {a:g}, not {b:g}" for m, (a, b) in left.items() if a > b]
        case.outcome = "as good" if not worse else "unchanged" if structural_equal(ours, before) else "weaker"
        case.reason = ", ".join(worse)
    else:
        case.outcome, case.reason = "not judged", verdict.text


def normal(func: PrimFunc) -> PrimFunc:
    """The function without labels, simplified; as it is where the proofs for that fail."""
    try:
        return NORMAL.run(Schedule(func)).after
    except Exception:
        return func


def reason(problem: BaseException) -> str:
    """A refusal in one line."""
    first = str(problem).strip().splitlines()[0] if str(problem).strip() else type(problem).__name__
    return first.partition(": refused, since ")[2] or first.partition("): ")[2] or first


def limited(record: dict[str, Any], seconds: float) -> Outcome:
    """The outcome of a case that may take so long."""

    def stop(*_: object) -> None:
        raise TooLong

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return replay(record)
    except TooLong:
        return Outcome(record["id"], record["kind"], "not judged", "it takes too long", seconds)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def table(outcomes: list[Outcome]) -> str:
    """How often each outcome is seen, by kind, and why cases are not as good."""
    lines = ["| pass | cases | " + " | ".join(OUTCOMES) + " |", "|---" * (len(OUTCOMES) + 2) + "|"]
    for name in (*sorted({o.kind for o in outcomes}), "all"):
        own = [o for o in outcomes if name in ("all", o.kind)]
        count = Counter(o.outcome for o in own)
        lines.append(f"| {name} | {len(own)} | " + " | ".join(str(count[k]) for k in OUTCOMES) + " |")
    for outcome in OUTCOMES[2:]:
        lines += [f"\n{outcome}:"] * any(o.outcome == outcome for o in outcomes)
        lines += [f"  {o.kind} {o.id}: {o.reason[:200]}" for o in outcomes if o.outcome == outcome]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--only", default="", metavar="KIND", help="passes whose name contains this")
    parser.add_argument("--seconds", type=float, default=60, help="what one case may take")
    parser.add_argument("--json", type=Path, help="write every outcome to this file, one object a line")
    parser.add_argument("--verbose", action="store_true", help="print the programs of cases that are not as good")
    options = parser.parse_args()
    outcomes = []
    for record in records(options.folder, options.only):
        case = limited(record, options.seconds)
        outcomes.append(case)
        if options.verbose and case.outcome not in OUTCOMES[:2]:
            print(f"===== {case.kind} {case.id}: {case.outcome}: {case.reason}")
            print(f"before:\n{case.before}\nours:\n{case.ours}\ntheirs:\n{case.after}", flush=True)
    print(table(outcomes))
    if options.json:
        options.json.write_text("".join(json.dumps(asdict(o)) + "\n" for o in outcomes), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
