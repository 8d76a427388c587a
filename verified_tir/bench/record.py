"""What was measured, as rows, as a JSON document, and beside an earlier one."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, final

from verified_tir import __version__
from verified_tir.activity import Level, announce
from verified_tir.bench.cases import OURS, Case, Unusable
from verified_tir.bench.machine import FMA, MEMCPY, fma_peak, memcpy
from verified_tir.bench.measure import Timing, clock_of, in_turns

SCHEMA: Final = 1
CEILINGS = (FMA, MEMCPY)


@final
@dataclass(frozen=True, slots=True)
class Row:
    """One case and its times; ``peak`` is in operations a second, ``bandwidth`` in bytes a second."""

    case: Case
    clock: str
    times: dict[str, Timing]
    peak: float | None
    bandwidth: float | None

    @property
    def ours(self) -> float:
        return self.times[OURS].median

    @property
    def peers(self) -> dict[str, float]:
        """The median seconds of the others."""
        return {n: t.median for n, t in self.times.items() if n != OURS and n not in CEILINGS}

    def rate(self, seconds: float) -> tuple[float, str]:
        """How much is done in a second, and the unit: operations; bytes if there are more of them; or runs."""
        flops = self.case.flops or 0
        if flops >= max(1, self.case.nbytes):
            return flops / seconds / 1e9, "GFLOP/s" if "float" in self.case.dtype else "GOP/s"
        return (self.case.nbytes / seconds / 1e9, "GB/s") if self.case.nbytes else (1 / seconds, "runs/s")

    @property
    def share(self) -> tuple[float, str] | None:
        """The part of the machine's most that is reached, and of what: the ceiling that takes longer.

        ``None`` if one is not known: what operations take is known of float32 and float64.
        """
        if self.case.flops and not self.peak:
            return None
        least = [(self.case.nbytes / self.bandwidth, MEMCPY)] if self.bandwidth else []
        if self.case.flops and self.peak:
            least.append((self.case.flops / self.peak, FMA))
        if not least:
            return None
        seconds, ceiling = max(least)
        return seconds / self.ours, ceiling

    def document(self) -> dict[str, Any]:
        """The row as JSON."""
        case, share = self.case, self.share
        return {
            "kernel": case.kernel,
            "sizes": case.sizes,
            "dtype": case.dtype,
            "threads": case.threads,
            "clock": self.clock,
            "times": {name: asdict(t) for name, t in self.times.items()},
            "what": {name: e.what for name, e in case.entries.items()},
            "ratios": {name: seconds / self.ours for name, seconds in self.peers.items()},
            "flops": case.flops,
            "bytes": case.nbytes,
            "peak": self.peak,
            "bandwidth": self.bandwidth,
            "share": None if share is None else share[0],
            "share_of": None if share is None else share[1],
            "proof_seconds": case.proof_seconds,
            "compile_seconds": case.compile_seconds,
        }


def measured(case: Case, budget: float) -> Row:
    """Time a case whose results agree, in turns with what the machine can do at most, for ``budget`` seconds."""
    clock, read = clock_of(case.threads)
    calls: dict[str, Any] = {name: e.call for name, e in case.entries.items()}
    peak = fma_peak(case.dtype, case.threads) if case.flops else None
    if peak is not None:
        calls[FMA] = peak[0]
    if case.threads == 1 and case.nbytes:  # memcpy has one thread
        calls[MEMCPY] = memcpy(case.nbytes)
    times = in_turns(calls, read, budget, lambda k: announce(Level.STEP, f"round {k + 1}"))
    return Row(
        case,
        clock,
        times,
        None if peak is None else peak[1] / times[FMA].median,
        case.nbytes / times[MEMCPY].median if MEMCPY in times else None,
    )


def document(
    rows: Sequence[Row], wrong: Mapping[str, Mapping[str, str]], environment: Mapping[str, Any], code: int
) -> dict[str, Any]:
    """All that is kept of a run.

    :param wrong: by case, what computes something else, and where.
    :param environment: see :func:`verified_tir.bench.machine.environment`.
    """
    return {
        "schema": SCHEMA,
        "version": __version__,
        "exit_code": code,
        "environment": dict(environment),
        "rows": [row.document() for row in rows],
        "wrong": {name: dict(found) for name, found in wrong.items()},
        "absent": {name: why for row in rows for name, why in row.case.absent.items()},
    }


# -- an earlier run ----------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True)
class Change:
    """How many times as long ours takes as before.

    :ivar by: the peers that say what the machine does to both.
    :ivar longer: whether it takes longer by the clock, too: most rounds than most of the old ones (the quartiles).
    """

    name: str
    factor: float
    by: tuple[str, ...]
    longer: bool


def read(path: Path) -> dict[str, Any]:
    """A document of an earlier run.

    :raises Unusable: if it is none.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise Unusable(f"--compare {path}: {problem.strerror or problem}") from None
    except ValueError:
        found = None
    if not isinstance(found, dict) or found.get("schema") != SCHEMA or "rows" not in found:
        raise Unusable(f"--compare {path}: this is not what vtir bench --json of this version writes")
    return found


def changes(rows: Sequence[Row], now: Mapping[str, Any], old: Mapping[str, Any]) -> list[Change]:
    """What changed since ``old``, for the cases that both have.

    The machine may be slower or busier than it was.  So the factor is relative to the peers' that are of the same
    version in both runs, their geometric mean.
    """
    before = {_key(r): r for r in old["rows"]}
    versions = now["versions"], old["environment"]["versions"]
    found = []
    for row in rows:
        new = row.document()
        was = before.get(_key(new))
        if was is None:
            continue
        same = [
            n
            for n in row.peers
            if n in was["ratios"]
            and was["what"].get(n) == new["what"].get(n)
            and versions[0].get(n) == versions[1].get(n)
        ]
        factors = [row.peers[n] / was["times"][n]["median"] for n in same]
        machine = math.exp(sum(map(math.log, factors)) / len(factors)) if factors else 1.0
        mine, its = row.times[OURS], was["times"][OURS]
        factor = mine.median / its["median"] / machine
        found.append(Change(row.case.name, factor, tuple(same), mine.low > its["high"]))
    return found


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["kernel"], row["sizes"], row["dtype"], row["threads"]
