"""Running a function on arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Var
from verified_tir.ir.func import IRModule, PrimFunc
from verified_tir.semantics.errors import ArgumentError, StepLimit, UndefinedBehaviour
from verified_tir.semantics.interpreter.arguments import array_extents, enter, leave, scalar_argument, shared
from verified_tir.semantics.interpreter.extents import bind_symbol, bind_symbols
from verified_tir.semantics.interpreter.frame import Frame, Run
from verified_tir.semantics.interpreter.interleaving import Interleaving
from verified_tir.semantics.interpreter.outcome import Outcome
from verified_tir.semantics.interpreter.program import Program, program_of, refuse_overlap
from verified_tir.semantics.interpreter.races import Watch
from verified_tir.semantics.interpreter.world import World

Argument = npt.NDArray[Any] | int | float | bool
Masks = Mapping[str, npt.NDArray[Any]]


def run(
    func: PrimFunc,
    args: Mapping[str, Argument],
    *,
    module: IRModule | None = None,
    defined: Masks | None = None,
    inaccessible: Masks | None = None,
    check_races: bool = False,
    max_steps: int | None = None,
    interleaved: int | None = None,
    world: World | None = None,
) -> Outcome:
    """What ``func`` does to these arguments.

    The arrays given are not modified; the outcome holds their contents at exit.

    :param args: arrays by the name of the buffer (lanes of a vector element are one more axis, the last), numbers by
        the name of the scalar parameter.  Shape symbols follow from the arrays; one that does not is passed by name.
    :param module: where calls of other functions, ``@name``, are looked up.
    :param defined: by buffer, which elements are defined at entry (all, if not given).
    :param inaccessible: by buffer, which elements may not be accessed (none, if not given).
    :param check_races: whether to look for conflicts between iterations of parallel, thread-bound and vectorized
        loops; they become findings of the outcome.
    :param max_steps: how many stores and loop iterations may be executed.
    :param interleaved: a seed: iterations of loops that are marked parallel, vectorized or bound to threads then take
        turns, in an order drawn at random (see ``interleaving``).  Races are not looked for, and calls are not a place
        to take turns.
    :param world: what opaque calls do.
    :raises UndefinedBehaviour: if the run has no meaning.
    :raises AssertionFailed: if an assertion of the program fails.
    :raises Unsupported: if the run meets an opaque call, and there is no ``world`` that knows what it does.
    :raises StepLimit: after ``max_steps``; it carries the findings until then.
    :raises ArgumentError: if the arguments do not fit the parameters.
    """
    program = program_of(func)
    watch = Watch() if check_races and interleaved is None else None
    turns = Interleaving(interleaved) if interleaved is not None and module is None else None
    state = Run(module, max_steps, watch, callers=(func.name,), interleaving=turns, world=world)
    frame = Frame(state)
    arrays = _bind(program, frame, args)
    _enter(program, frame, arrays, defined or {}, inaccessible or {})
    if world is not None:
        world.begin([frame.views[b] for b in program.declarations])
    try:
        program.body(frame)
    except StepLimit as limit:
        limit.findings = state.watch.findings if state.watch is not None else ()
        raise
    left = {b.name: leave(frame.views[b], b.dtype) for b in program.declarations}
    return Outcome(
        {name: array for name, (array, _) in left.items()},
        {name: mask for name, (_, mask) in left.items()},
        state.watch.findings if state.watch is not None else (),
        state.steps,
    )


def _bind(program: Program, frame: Frame, args: Mapping[str, Argument]) -> dict[Buffer, npt.NDArray[Any]]:
    """Bind the scalar parameters and the shape symbols; the arrays, by buffer."""
    rest = dict(args)
    names = [p.name if b is None else b.name for p, b in program.params]
    if len(set(names)) != len(names):
        raise ArgumentError(f"two parameters of {program.name} have one name: {', '.join(names)}")
    missing = [name for name in names if name not in rest]
    if missing:
        raise ArgumentError(f"{program.name} needs {', '.join(missing)}")
    given = []
    arrays: dict[Buffer, npt.NDArray[Any]] = {}
    for (param, buffer), name in zip(program.params, names, strict=True):
        value = rest.pop(name)
        if buffer is None:
            frame.values[param] = scalar_argument(param, value)
        else:
            if issubclass(type(value), np.ndarray):  # as the plain array that it is, whatever its class says of it
                value = np.ndarray.view(value, np.ndarray)  # type: ignore[arg-type]
            given.append((buffer, array_extents(buffer, value)))
            assert isinstance(value, np.ndarray)
            arrays[buffer] = value
    for symbol in program.symbols:
        if symbol.name in rest and symbol not in frame.values:
            bind_symbol(frame, symbol, _integer(symbol, rest.pop(symbol.name)))
    if rest:
        raise ArgumentError(f"{program.name} has no parameter {', '.join(rest)}; it has {', '.join(names)}")
    bind_symbols(frame, program.symbols, given)
    return arrays


def _integer(symbol: Var, value: object) -> int:
    number = scalar_argument(symbol, value)
    assert isinstance(number, int)
    return number


def _enter(
    program: Program, frame: Frame, arrays: Mapping[Buffer, npt.NDArray[Any]], defined: Masks, inaccessible: Masks
) -> None:
    """Give each array a block, and the parameter its view."""
    by_name = {buffer.name: buffer for buffer in arrays}
    for name in (*defined, *inaccessible):
        if name not in by_name:
            raise ArgumentError(f"a mask is given for {name}, which is not a buffer of {program.name}")
    pairs = shared({buffer.name: array for buffer, array in arrays.items()})
    refuse_overlap(program, [(by_name[a], by_name[b]) for a, b in pairs], frame.run.module)
    for buffer, array in arrays.items():
        try:
            extents = program.declarations[buffer](frame)
        except UndefinedBehaviour as end:
            raise ArgumentError(f"the extents of {buffer.name} have no meaning here: {end}") from end
        frame.views[buffer] = frame.whole[buffer.data] = enter(
            frame.run, buffer, extents, array,
            defined=defined.get(buffer.name), inaccessible=inaccessible.get(buffer.name),
        )  # fmt: skip
