"""What is timed: one computation on given arrays, by us and by others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
import numpy.typing as npt

from verified_tir.semantics.interpreter.outcome import same_bits

Array = npt.NDArray[Any]
Call = Callable[[], Sequence[Array]]
"""Computes, and gives the results."""

OURS = "ours"
FAILS = "it fails: "


class Unusable(ValueError):
    """A kernel, size or option that there is not, in one sentence."""


@final
@dataclass(frozen=True, slots=True)
class Entry:
    """One way to compute a case.

    :ivar what: which function or program this is, for the footnote.
    :ivar exact: whether the bits must be as expected.
    :ivar expected: the results in this entry's layouts, if they are not the case's.
    :ivar counts: where results count, by result; everywhere unless given.
    :ivar asked: whether the user asked for just this one: then it must not fail.
    """

    call: Call
    what: str = ""
    exact: bool = False
    expected: Sequence[Array] | None = None
    counts: Sequence[Array] | None = None
    asked: bool = False


@final
@dataclass(slots=True)
class Case:
    """One computation at one size.

    :ivar entries: ways to compute it, by name; :data:`OURS` is one of them.
    :ivar expected: what the results must be.
    :ivar tolerance: how far a float may be off, as a part of the largest expected one.
    :ivar flops: float or integer operations of one run, if they are known.
    :ivar nbytes: bytes that one run must at least read and write; 0 if that says nothing.
    :ivar absent: peers that are not there, with the reason.
    """

    kernel: str
    sizes: str
    dtype: str
    threads: int
    entries: dict[str, Entry]
    expected: Sequence[Array]
    tolerance: float
    nbytes: int
    flops: int | None = None
    proof_seconds: float = 0.0
    compile_seconds: float = 0.0
    absent: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The case in one line."""
        return " ".join(filter(None, (self.kernel, self.sizes, self.dtype)))

    def wrong(self) -> dict[str, str]:
        """Run everything once; what computes something else than is expected, and where.

        A peer that fails is absent from now on, but for one that was asked for.  To be called once: a program may
        change its arguments.
        """
        found: dict[str, str] = {}
        for name, entry in list(self.entries.items()):
            try:
                text = self._difference(entry)
            except (Exception, SystemExit) as problem:  # whatever a peer raises, it is its own
                if name == OURS:
                    raise
                if entry.asked:
                    found[name] = failure(problem)
                    continue
                del self.entries[name]
                self.absent[name] = failure(problem)
            else:
                if text:
                    found[name] = text
        return found

    def _difference(self, entry: Entry) -> str:
        expected = self.expected if entry.expected is None else entry.expected
        results = entry.call()
        if len(results) != len(expected):
            return f"{len(results)} results instead of {len(expected)}"
        for k, (got, want) in enumerate(zip(results, expected, strict=True)):
            counts = np.True_ if entry.counts is None else entry.counts[k]
            text = difference(np.asarray(got), want, None if entry.exact else self.tolerance, counts)
            if text:
                return text if len(expected) == 1 else f"result {k}: {text}"
        return ""


def failure(problem: BaseException) -> str:
    """The exception of a peer in one line."""
    first = next(iter(str(problem).strip().splitlines()), "")
    return f"{FAILS}{type(problem).__name__}: {first[:100]}"


def difference(got: Array, want: Array, tolerance: float | None, counts: Any = True) -> str:
    """Where an array is not what is expected, in one sentence; empty if it is.

    Expected floats may be of a wider type.  Two NaNs agree.

    :param tolerance: see :class:`Case`; ``None`` asks for the same bits.
    :param counts: where they are looked at.
    """
    if got.shape != want.shape:
        return f"the shape is {list(got.shape)} instead of {list(want.shape)}"
    if tolerance is None or want.dtype.kind not in "fV":  # V: types of ml_dtypes
        if got.dtype != want.dtype:
            return f"the type is {got.dtype} instead of {want.dtype}"
        off = ~same_bits(got, want)
    else:
        wide, exact = got.astype(np.float64), want.astype(np.float64)
        finite = np.abs(exact[np.isfinite(exact)])
        scale = float(finite.max()) if finite.size else 0.0
        off = ~np.isclose(wide, exact, rtol=0.0, atol=tolerance * scale, equal_nan=True)
    off = off & counts
    if not off.any():
        return ""
    at = tuple(int(x) for x in np.argwhere(off)[0])
    return f"element {list(at)} is {got[at]} instead of {want[at]} ({int(off.sum()):,} of {off.size:,} differ)"
