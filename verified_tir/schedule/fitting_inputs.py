"""Arrays on which a program has a meaning, for commands that run machine code.

Machine code takes for granted what the program assumes: on arrays that contradict it, it may write anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, final

from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Assume
from verified_tir.ir.visit import walk
from verified_tir.schedule.exhibit import exhibit_of
from verified_tir.schedule.exhibit_claims import leading
from verified_tir.schedule.replay_inputs import Array
from verified_tir.semantics.interpreter import (
    ArgumentError,
    AssertionFailed,
    StepLimit,
    Stopped,
    UndefinedBehaviour,
    run,
)

STEPS: Final = 300_000
"""Stores and iterations, at most, of the run that shows whether assumptions are true."""
ELEMENTS: Final = 4_096
"""Of all arrays, at most, if others are sought that satisfy them: more takes minutes."""


@final
class NoneFit(ValueError):
    """Of no arrays it is known that they satisfy what a program assumes."""


def fitting(func: PrimFunc, sizes: Mapping[str, Any], arrays: Mapping[str, Array]) -> dict[str, Array]:
    """These arrays if they satisfy what a program assumes, else others of the same sizes that do.

    :param func: the program, its blocks expanded (``theorem.before``).
    :raises NoneFit: if none are found.
    """
    try:
        check_fit(func, sizes, arrays)
    except NoneFit:
        if sum(a.size for a in arrays.values()) > ELEMENTS:
            raise
        found = exhibit_of(func, dict(sizes))
        if found is None or found.found != "input" or not found.arrays or dict(found.sizes) != dict(sizes):
            raise
        return dict(found.arrays)
    return dict(arrays)


def check_fit(func: PrimFunc, sizes: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """:raises NoneFit: if it is not known that arrays satisfy what a program assumes."""
    if not any(isinstance(n, Assume) for n in walk(func.body)):
        return
    first = leading(func.body)
    try:
        run(func if first is None else func.with_body(first), {**arrays, **sizes}, max_steps=STEPS)
    except AssertionFailed:  # the machine code stops there, too
        return
    except UndefinedBehaviour as ub:
        raise NoneFit(f"{func.name} has no meaning on these arrays: {ub}") from None
    except StepLimit:
        why = f"that takes the interpreter more than {STEPS:,} stores and iterations"
        raise NoneFit(f"{func.name} assumes what cannot be checked of these arrays: {why}") from None
    except (Stopped, ArgumentError) as problem:
        raise NoneFit(f"{func.name} assumes what cannot be checked of these arrays: {problem}") from None
