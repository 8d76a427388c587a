"""Looking for a difference in elements that could not be shown to be equal: replays of what each depends on.

Only what is found here is called different.  An input on which *before* has undefined behaviour, as far as it is run,
shows nothing.  Where *before* assumes something of its inputs, a replay in part cannot tell whether that holds, and
nothing is looked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from verified_tir.ir.dtype import DType
from verified_tir.ir.floats import bits_of
from verified_tir.semantics.errors import UndefinedBehaviour, Unsupported
from verified_tir.semantics.values import UNDEF, Scalar
from verified_tir.validate.concrete import AGAIN, KINDS, constants
from verified_tir.validate.demand.closure import Closure
from verified_tir.validate.demand.replay import Inputs, Replay
from verified_tir.validate.interface import Parameter
from verified_tir.validate.memory import Refused
from verified_tir.validate.terms import Ids
from verified_tir.validate.verdict import Different

if TYPE_CHECKING:
    from verified_tir.validate.demand.validator import Program

_MOST_ELEMENTS: Final = 4
_MOST_INSTANCES: Final = 400_000  # of all replays
_FIRST: Final = 9
_KINDS: Final = (*KINDS, "special", "small", "special", "constants", "minus", *(AGAIN * 8))
"""Of contents; those after the first ones where replays take little time."""

Depend = Callable[["Program", Mapping[int, Ids]], Closure]


def look(
    first: Program,
    second: Program,
    doubtful: Sequence[tuple[int, int]],
    depend: Depend,
    padding: Sequence[tuple[int, int]] = (),
) -> Different | None:
    """A witness for one of some doubtful elements, given as (position of the parameter, number of the element).

    :param padding: doubtful scalars of the padding of *after*, as (position of the parameter, address).
    """
    if first.outline.assumes:
        return None
    pool = constants(first.side.func, second.side.func)
    spent = 0
    places = [(*p, False) for p in doubtful[:_MOST_ELEMENTS]] + [(*p, True) for p in padding[:_MOST_ELEMENTS]]
    for position, element, owed in places:
        chosen = {position: np.array([] if owed else [element], dtype=np.int64)}
        try:
            replays = [Replay(p.outline, depend(p, chosen), p.params) for p in (first, second)]
        except Refused:
            continue
        for number, kind in enumerate(_KINDS):
            spent += 1 + sum(replay.size for replay in replays)
            if spent > (_MOST_INSTANCES if number < _FIRST else _MOST_INSTANCES // 4) and number:
                break
            inputs = Inputs(kind, number, pool)
            found = _compare(first, second, replays, position, element, inputs, owed=owed)
            if found is not None:
                return found
    return None


def _compare(
    first: Program,
    second: Program,
    replays: Sequence[Replay],
    position: int,
    element: int,
    inputs: Inputs,
    *,
    owed: bool,
) -> Different | None:
    """Whether an element has another value, or (``owed``) a scalar of the padding one that is not owed."""
    old, new = first.params[position], second.params[position]
    assert old.buffer is not None and new.buffer is not None
    dtype, padding, which = new.buffer.dtype, new.padding, np.array([element], dtype=np.int64)
    try:
        left = replays[0].run(inputs)[old.buffer.data]
        if owed and isinstance(padding, int | float):
            was: list[Scalar] = [float(padding) if dtype.is_float else padding]
        else:
            was = [left.scalar(int(at)) for at in old.scalars(old.positions(which))[0]]
    except (UndefinedBehaviour, Unsupported):
        return None
    try:
        right = replays[1].run(inputs)[new.buffer.data]
        places = [element] if owed else new.scalars(new.positions(which))[0].tolist()
        now = [right.scalar(at) for at in places]
    except UndefinedBehaviour as end:
        return _witness(first, second, inputs, "", None, str(end))
    except Unsupported:
        return None
    for lane, (a, b) in enumerate(zip(was, now, strict=True)):
        if a is not UNDEF and not _same(dtype.scalar, a, b):
            name = f"the padding of {new.name}" if owed else old.element_name(element, lane)
            return _witness(first, second, inputs, name, a, None if b is UNDEF else b)
    return None


def _same(dtype: DType, a: Scalar, b: Scalar) -> bool:
    if a is UNDEF or b is UNDEF:
        return False
    if dtype.is_float:
        return (math.isnan(a) and math.isnan(b)) or bits_of(dtype, a) == bits_of(dtype, b)
    return a == b


def _witness(
    first: Program, second: Program, inputs: Inputs, element: str, before: object, after: object | None
) -> Different:
    scalars: list[dict[str, int | float | bool]] = []
    for program in (first, second):
        found: dict[str, int | float | bool] = {}
        for p in program.params:
            if p.buffer is None and p.var in program.side.values:
                found[p.name] = program.side.values[p.var]
            elif p.buffer is None and p.position in inputs.used:
                found[p.name] = inputs.used[p.position][0]  # type: ignore[assignment]
        scalars.append(found)
    contents = {p.name: _by_index(p, inputs.used.get(p.position, {})) for p in first.params if p.buffer is not None}
    return Different(scalars[0], scalars[1], element, before, after, contents)


def _by_index(parameter: Parameter, used: Mapping[int, Scalar]) -> dict[tuple[int, ...], object]:
    """Contents by index, the lane last if there are several."""
    found: dict[tuple[int, ...], object] = {}
    for scalar, value in sorted(used.items()):
        element, lane = divmod(scalar, parameter.lanes)
        index = tuple(int(k[0]) for k in parameter.indices_before(np.array([element], dtype=np.int64)))
        found[(*index, lane) if parameter.lanes > 1 else index] = value
    return found
