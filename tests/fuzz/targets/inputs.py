"""Arguments on which a program has a meaning, drawn from a seed: what theorems about it are tried on.

Sizes from none to a few, contents from small numbers to special floats and the ends of ranges; where a program assumes
something of an element, that element is changed until it holds.  Parameters that are only read share memory now and
then, as they may.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, final

import numpy as np

from tests.parts.reference_runs import random_arguments, symbols
from verified_tir.ir.dtype import PointerType
from verified_tir.ir.expr import FloatImm, IntImm, Var
from verified_tir.ir.find import writes_of
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.visit import free_vars, walk
from verified_tir.schedule.replay_inputs import repair
from verified_tir.semantics.interpreter import ArgumentError, AssertionFailed, Outcome, UndefinedBehaviour
from verified_tir.testing.reference import End, Given, ended

SIZES: Final = (3, 1, 0, 2, 4, 5, 7, 8)
NUMBERS: Final = (1, 0, 3, -1, 2, 5, -3, 100)
REPAIRS: Final = 40
STEPS: Final = 4000
ELEMENTS: Final = 4000


@final
@dataclass(frozen=True, slots=True)
class Input:
    """Arguments by name, and how the program ends on them: in arrays, or with an assertion."""

    arguments: dict[str, Any]
    end: End


def inputs(func: PrimFunc, seed: int, count: int, *, natural: bool = False) -> Iterator[Input]:
    """Up to ``count`` arguments on which a program has a meaning.

    :param natural: small natural numbers only, for theorems that allow float sums another order.
    """
    rng = np.random.default_rng(seed)
    found = 0
    for attempt in range(3 * count):
        try:
            made = meaningful(func, _drawn(func, rng, seed, attempt, natural), rng)
        except ArgumentError:  # a number that is too large, or negative, for its type
            continue
        if made is not None:
            yield made
            found += 1
        if found == count:
            return


def _drawn(func: PrimFunc, rng: np.random.Generator, seed: int, attempt: int, natural: bool) -> dict[str, Any]:
    extents = {v.name for b in func.buffers for e in (*b.shape, *b.strides, b.elem_offset) for v in free_vars(e)}
    near = _constants(func)
    sizes = {}
    for name in symbols(func):
        pool = SIZES if name in extents else (*NUMBERS, *near)
        sizes[name] = int(pool[0] if attempt == 0 else rng.choice(pool))
    for b in func.buffers:
        if np.prod([_size(e, sizes) for e in b.shape], dtype=np.float64) > ELEMENTS:
            raise ArgumentError(f"{b.name} is too large to be tried")
    found = random_arguments(func, sizes, seed, attempt)
    found |= {b.name: np.asarray(found[b.name]) for b in func.buffers}
    if natural:
        for name, value in found.items():
            if isinstance(value, np.ndarray) and value.dtype.kind not in "iub":
                found[name] = np.asarray(rng.integers(0, 4, value.shape)).astype(value.dtype)
            elif isinstance(value, float):
                found[name] = float(rng.integers(0, 4))
    elif attempt % 4 == 3:
        _coincide(func, found)
    return found


def _size(e: object, sizes: dict[str, int]) -> int:
    if isinstance(e, IntImm):
        return e.value
    return max(sizes[e.name], 0) if isinstance(e, Var) and e.name in sizes else 8


def _constants(func: PrimFunc) -> tuple[int, ...]:
    """Small numbers in the program, which conditions may compare parameters with."""
    found = {int(n.value) for n in walk(func.body) if isinstance(n, (IntImm, FloatImm)) and abs(n.value) < 64}
    return tuple(sorted(found))[:16]


def _coincide(func: PrimFunc, arguments: dict[str, Any]) -> None:
    """Let two parameters that are only read be one array."""
    written = {s.buffer.data for s in writes_of(func.body)}
    read = [b for b in func.buffers if b.data not in written]
    for a, b in combinations(read, 2):
        x, y = arguments[a.name], arguments[b.name]
        if x.shape == y.shape and x.dtype == y.dtype:
            arguments[b.name] = x


def meaningful(func: PrimFunc, arguments: dict[str, Any], rng: np.random.Generator) -> Input | None:
    """The arguments, changed where the program assumes something of them; ``None`` if it has no meaning on them."""
    scalars = {p.name: arguments[p.name] for p in func.params
               if func.buffer_of(p) is None and not isinstance(p.type, PointerType)}  # fmt: skip
    for _ in range(REPAIRS):
        end = ended(func, Given(arguments, {}, {}), steps=STEPS)
        if isinstance(end, (Outcome, AssertionFailed)):
            return Input(arguments, end)
        if not (isinstance(end, UndefinedBehaviour) and end.kind == "assume"):
            return None
        arrays = {name: value for name, value in arguments.items() if isinstance(value, np.ndarray)}
        if not repair(func, arrays, {**arguments, **scalars}, end, rng):
            return None
    return None
