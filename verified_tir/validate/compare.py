"""Comparing two memories at exit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np
import numpy.typing as npt

from verified_tir.validate.interface import Parameter
from verified_tir.validate.memory import Refused
from verified_tir.validate.session import Exit
from verified_tir.validate.terms import UNDEF_ID, Ids, Terms


@final
@dataclass(slots=True)
class Gap:
    """Pairs of terms that are not the same, each once, with the number of elements of each parameter that have it."""

    pairs: dict[tuple[int, int], dict[str, int]] = field(default_factory=dict)
    same: int = 0
    undefined: int = 0


def compare(terms: Terms, before: Exit, after: Exit, old: Sequence[Parameter], new: Sequence[Parameter]) -> Gap:
    """Element by element: the same term means the same bits, and what is undef before may be anything.

    :raises Refused: where elements have other numbers of lanes.
    """
    gap = Gap()
    for one, other in zip(old, new, strict=True):
        if one.buffer is None or other.buffer is None:
            continue
        a, b = before.memory[one.position][0], after.memory[other.position][0]
        if a.shape != b.shape:
            raise Refused(f"elements of {one.name} have other numbers of lanes after")
        same, free = a == b, a == UNDEF_ID
        gap.same += int(same.sum())
        gap.undefined += int((free & ~same).sum())
        _collect(gap, one.name, a[~same & ~free], b[~same & ~free])
        if other.padding is not None and other.padding != "undef":
            rest = after.memory[other.position][1]
            owed = np.full(rest.shape, terms.constant(other.buffer.dtype.scalar, other.padding))
            wrong = rest != owed
            _collect(gap, f"the padding of {other.name}", owed[wrong], rest[wrong])
    return gap


def _collect(gap: Gap, name: str, a: Ids, b: Ids) -> None:
    if not a.size:
        return
    keys, counts = np.unique((a << 32) | b, return_counts=True)
    for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
        gap.pairs.setdefault((key >> 32, key & 0xFFFFFFFF), {})[name] = count


def holding(
    pairs: Sequence[tuple[int, int]], before: Exit, after: Exit, old: Sequence[Parameter], new: Sequence[Parameter]
) -> dict[int, npt.NDArray[np.bool_]]:
    """Where some of the pairs of terms are: by position of the parameter, (elements of *before*, lanes)."""
    keys = np.array([(a << 32) | b for a, b in pairs], dtype=np.int64)
    found: dict[int, npt.NDArray[np.bool_]] = {}
    for one, other in zip(old, new, strict=True):
        if keys.size and one.buffer is not None and other.buffer is not None:
            a, b = before.memory[one.position][0], after.memory[other.position][0]
            found[one.position] = np.isin((a << 32) | b, keys)
    return found


def extra_events(terms: Terms, before: Exit, after: Exit) -> list[tuple[int, int]]:
    """Conditional undefined behaviour of *after* that *before* does not have on the same condition."""
    true, known = terms.true, before.events
    return [
        (guard, condition)
        for guard, condition in after.events
        if (guard, condition) not in known and (true, condition) not in known and (condition, guard) not in known
        and (true, guard) not in known
    ]  # fmt: skip
