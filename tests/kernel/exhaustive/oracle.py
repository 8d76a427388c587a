"""Does the interpreter agree with a theorem?

``disagreement(theorem, inputs)`` runs the program before and the program after on every input on which the first has a
meaning.  The second must then have one too, end in arrays at least as defined with the same bits (read through the
theorem's layout maps), and have no races.  Padding is filled as the theorem's relation says.  Opaque
calls find the same callees in both.

Nothing here shares code with the kernel or with the schedule's own replays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.rules.inputs import Input, inputs_of
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FloatImm, IntImm, Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.kernel.memory import Padding
from verified_tir.kernel.obligation import ParameterMap
from verified_tir.kernel.theorem import Refines
from verified_tir.semantics.interpreter import Outcome, UndefinedBehaviour, refines, run
from verified_tir.semantics.interpreter.outcome import Difference
from verified_tir.testing.callees import Callees
from verified_tir.testing.reference import value_of

Array = npt.NDArray[Any]
STEPS = 400


def outcome(func: PrimFunc, given: Input, inaccessible: Mapping[str, Array] | None = None) -> Outcome | Exception:
    """How a run ends: in arrays, or in what it raised."""
    try:
        return run(
            func,
            given.args,
            defined=given.defined,
            inaccessible=inaccessible or {},
            check_races=True,
            max_steps=STEPS,
            world=Callees(),
        )
    except Exception as end:
        return end


def disagreement(theorem: Refines, inputs: list[Input], before: list[Outcome | Exception] | None = None) -> str | None:
    """Where the interpreter contradicts the theorem: a sentence and the input; ``None`` if nowhere."""
    return _compare(
        (theorem.before, theorem.after, theorem.relation, theorem.paddings),
        inputs,
        before or outcomes(theorem.before, inputs),
    )


def would_disagree(
    before: PrimFunc,
    after: PrimFunc,
    maps: tuple[ParameterMap, ...],
    paddings: tuple[Padding, ...],
    inputs: list[Input],
    ends: list[Outcome | Exception],
) -> bool:
    """The same question about a step that was refused."""
    try:
        return _compare((before, after, maps, paddings), inputs, ends) is not None
    except (IndexError, ValueError, UndefinedBehaviour):
        return True  # there is no such array


def outcomes(func: PrimFunc, inputs: list[Input]) -> list[Outcome | Exception]:
    """How the program ends on each input."""
    return [outcome(func, given) for given in inputs]


Programs = tuple[PrimFunc, PrimFunc, tuple[ParameterMap, ...], tuple[Padding, ...]]


def _compare(programs: Programs, inputs: list[Input], ends: list[Outcome | Exception]) -> str | None:
    func, after, maps, paddings = programs
    for given, first in zip(inputs, ends, strict=True):
        name = type(first).__name__
        if not isinstance(first, Outcome) and name != "AssertionFailed":
            continue  # no meaning, or cut off
        for moved, closed in _moved(func, after, maps, paddings, given):
            second = outcome(after, moved, closed)
            problem = _judge(first, second, func, after, maps, given)
            if problem is not None:
                return f"{problem}  on {_shown(given)}"
    return None


def _judge(
    first: Outcome | Exception,
    second: Outcome | Exception,
    func: PrimFunc,
    after: PrimFunc,
    maps: tuple[ParameterMap, ...],
    given: Input,
) -> str | None:
    if not isinstance(first, Outcome):
        same = type(second) is type(first) and str(second) == str(first)
        return None if same or type(second).__name__ == "AssertionFailed" else f"stopped before; after: {second!r}"
    if not isinstance(second, Outcome):
        return f"after: {type(second).__name__}: {second}"
    if second.findings:
        return f"licence broken: {second.findings[0]}"
    differences = refines(first, _moved_back(func, maps, second, first, given))
    return f"{differences[0]}" if differences else None


def _shown(given: Input) -> str:
    parts = [f"{k} = {v.tolist() if isinstance(v, np.ndarray) else v}" for k, v in given.args.items()]
    parts += [f"{k} defined {v.astype(int).tolist()}" for k, v in given.defined.items() if not v.all()]
    return ", ".join(parts)


# --------------------------------------------------------------------------------------------- layouts and padding


def _sizes(func: PrimFunc, given: Input) -> dict[Var, int]:
    sizes = {p: given.args[p.name] for p in func.params if func.buffer_of(p) is None}
    for b in func.buffers:
        for e, extent in zip(b.shape, given.args[b.name].shape, strict=False):
            if isinstance(e, Var):
                sizes[e] = extent
    return sizes


def _moved(
    func: PrimFunc, after: PrimFunc, maps: tuple[ParameterMap, ...], paddings: tuple[Padding, ...], given: Input
) -> Iterator[tuple[Input, dict[str, Array]]]:
    """The input in the layouts of the program after; padding that may hold anything, undefined and then as garbage."""
    if not maps:
        yield given, {}
        return
    sizes = _sizes(func, given)
    for garbage in (False, True):
        args, defined = dict(given.args), dict(given.defined)
        for m in maps:
            old = args[m.before.name]
            shape = tuple(value_of(e, sizes) for e in m.after.shape)
            new, known = np.full(shape, 7, old.dtype), np.full(shape, garbage)
            old_known = defined.get(m.before.name, np.full(old.shape, True))
            for x in np.ndindex(*old.shape):
                y = tuple(value_of(e, {**sizes, **dict(zip(m.inputs, x, strict=True))}) for e in m.outputs)
                new[y], known[y] = old[x], old_known[x]
            args[m.before.name], defined[m.before.name] = new, known
        closed = _pad(paddings, args, defined, sizes)
        args.update({p.name: sizes[p] for p in after.params if after.buffer_of(p) is None})
        yield Input(args, defined), closed


def _pad(
    paddings: tuple[Padding, ...], args: dict[str, Any], defined: dict[str, Array], sizes: dict[Var, int]
) -> dict[str, Array]:
    closed: dict[str, Array] = {}
    for p in paddings:
        array = args[p.buffer.name]
        for y in np.ndindex(*array.shape):
            if not value_of(p.predicate, {**sizes, **dict(zip(p.indices, y, strict=True))}):
                continue
            if p.value is None:
                closed.setdefault(p.buffer.name, np.full(array.shape, False))[y] = True
            elif isinstance(p.value, (IntImm, FloatImm)):
                array[y], defined[p.buffer.name][y] = p.value.value, True
            else:
                assert isinstance(p.value, Undef), "only constants are tried as padding"
    return closed


def _moved_back(
    func: PrimFunc, maps: tuple[ParameterMap, ...], after: Outcome, before: Outcome, given: Input
) -> Outcome:
    if not maps:
        return after
    sizes = _sizes(func, given)
    arrays, known = dict(after.arrays), dict(after.defined)
    for name in {m.before.name for m in maps}:
        chain = [m for m in maps if m.before.name == name]
        old = before.arrays[name]
        array, mask = np.zeros(old.shape, old.dtype), np.full(old.shape, False)
        for x in np.ndindex(*old.shape):
            y: tuple[int, ...] = x
            for m in chain:
                y = tuple(value_of(e, {**sizes, **dict(zip(m.inputs, y, strict=True))}) for e in m.outputs)
            array[x], mask[x] = arrays[name][y], known[name][y]
        arrays[name], known[name] = array, mask
    return Outcome(arrays, known, after.findings, after.steps)


__all__ = ["Buffer", "Difference", "Input", "disagreement", "inputs_of", "outcome", "outcomes", "would_disagree"]
