"""What a run ends in, and when one run's end refines another's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from verified_tir.semantics.errors import ArgumentError
from verified_tir.semantics.interpreter.races import Finding

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]


@final
@dataclass(frozen=True, slots=True)
class Outcome:
    """The parameters' contents at exit, by name.

    ``arrays`` have the shapes and dtypes of the arguments.  ``defined`` has one bool for each of their elements; where
    it is false, the element holds zero and means nothing.  ``findings`` are the races that were found, if these were
    checked.  ``steps`` counts the stores and loop iterations executed.
    """

    arrays: Mapping[str, Array]
    defined: Mapping[str, Mask]
    findings: tuple[Finding, ...]
    steps: int


@final
@dataclass(frozen=True, slots=True)
class Difference:
    """An element that was defined before, and is another one or undefined after (then ``after`` is ``None``)."""

    buffer: str
    indices: tuple[int, ...]
    before: object
    after: object | None

    def __str__(self) -> str:
        element = f"{self.buffer}[{', '.join(map(str, self.indices))}]"
        after = "undefined" if self.after is None else self.after
        return f"{element} was {self.before} and would be {after}"


def same_bits(a: Array, b: Array) -> Mask:
    """Elementwise equality of bits: any two NaNs are the same, -0.0 and 0.0 are not."""
    unsigned = f"u{a.dtype.itemsize}"
    same: Mask = np.ascontiguousarray(a).view(unsigned) == np.ascontiguousarray(b).view(unsigned)
    same = same.reshape(a.shape)
    with np.errstate(invalid="ignore"):  # comparisons of bfloat16 warn of NaNs
        both_nan: Mask = (a != a) & (b != b)  # noqa: PLR0124 (the test for NaN)
    return same | both_nan


def refines(before: Outcome, after: Outcome) -> list[Difference]:
    """Where ``after`` is not a refinement of ``before``: empty if every element defined before is so after, with its
    bits.

    :raises ArgumentError: if the two do not have the same arrays, shapes and dtypes.
    """
    found: list[Difference] = []
    if before.arrays.keys() != after.arrays.keys():
        raise ArgumentError(f"one run has arrays {', '.join(before.arrays)}, the other {', '.join(after.arrays)}")
    for name, old in before.arrays.items():
        new = after.arrays[name]
        if old.shape != new.shape or old.dtype != new.dtype:
            raise ArgumentError(
                f"{name} is {old.dtype}{list(old.shape)} in one run, {new.dtype}{list(new.shape)} in the other"
            )
        defined = after.defined[name]
        wrong = before.defined[name] & ~(defined & same_bits(old, new))
        for where in np.argwhere(wrong):
            indices = tuple(int(k) for k in where)
            found.append(Difference(name, indices, old[indices], new[indices] if defined[indices] else None))
    return found
