"""The relation of a theorem in the form that the validator takes: where each element went, and what pads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from verified_tir.index.evaluate import evaluate
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, Expr, FloatImm, IntImm, Undef
from verified_tir.ir.func import PrimFunc
from verified_tir.kernel.memory import Padding
from verified_tir.kernel.obligation import ParameterMap
from verified_tir.kernel.theorem import Refines
from verified_tir.schedule.replay_inputs import symbols
from verified_tir.validate import Correspondence
from verified_tir.validate import Padding as Value


class NotExpressible(Exception):
    """The relation of the two interfaces has no form that the validator takes."""


def with_parameters(before: PrimFunc, after: PrimFunc) -> PrimFunc:
    """*before* with the parameters that *after* has besides: symbols that its shapes do not show any longer."""
    added = tuple(p for p in after.params[len(before.params) :] if after.buffer_of(p) is None)
    if not added:
        return before
    return PrimFunc(
        before.name, (*before.params, *added), before.buffer_map, before.body, before.attrs, before.ret_type
    )


def moves_to(theorem: Refines, after: PrimFunc) -> tuple[ParameterMap, ...]:
    """The layout changes made when the schedule had come to a program.

    :raises NotExpressible: if the program is not on the way.
    """
    wanted = set(after.buffers)
    current = list(theorem.before.buffers)
    last = 0 if set(current) == wanted else None
    for k, m in enumerate(theorem.relation, 1):
        current = [m.after if b is m.before else b for b in current]
        if set(current) == wanted:
            last = k
    if last is None:
        raise NotExpressible("its parameters are not those of the schedule")
    return theorem.relation[:last]


def interface(
    theorem: Refines, before: PrimFunc, after: PrimFunc, sizes: Mapping[str, int]
) -> dict[str, Correspondence]:
    """How each parameter moved, all its layout changes composed.

    :raises NotExpressible: if padding holds more than one value.
    """
    values = {v: sizes[v.name] for f in (before, after) for v in symbols(f) if v.name in sizes}
    maps = moves_to(theorem, after)
    found = {}
    for old in before.buffers:
        chain: list[ParameterMap] = []
        now = old
        for m in maps:
            if m.before is now:
                chain.append(m)
                now = m.after
        if chain:
            found[old.name] = Correspondence(_composed(chain, values), _padding(now, chain[-1].paddings))
    return found


def _composed(chain: Sequence[ParameterMap], values: Mapping[Any, int]) -> Callable[..., Sequence[Any]]:
    def index_map(*indices: Any) -> Sequence[Any]:
        current: Sequence[Any] = [np.asarray(i, np.int64) for i in indices]
        for m in chain:
            given = {**values, **dict(zip(m.inputs, current, strict=True))}
            shape = np.shape(indices[0]) if indices else ()
            current = [np.broadcast_to(x, shape) for x in evaluate(m.outputs, given)]
        return current

    return index_map


def _padding(buffer: Buffer, paddings: Sequence[Padding]) -> Value:
    kinds = {_value(p.value) for p in paddings if p.predicate is not FALSE}
    if len(kinds) > 1:
        raise NotExpressible(f"the padding of {buffer.name} holds several values")
    return next(iter(kinds), None)


def _value(value: Expr | None) -> Value:
    match value:
        case None:
            return None
        case Undef():
            return "undef"
        case IntImm(value=number) | FloatImm(value=number):
            return number
    raise NotExpressible("the padding's value depends on where it stands")
