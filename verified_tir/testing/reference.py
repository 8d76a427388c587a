"""What a theorem says, tried on arguments: the meaning of layouts, padding and licences by plain loops over elements.

:func:`disagreement` runs the program before and the program after with the interpreter.  If the first has a meaning on
the arguments, the second must have one, too; it must end in arrays at least as defined with the same bits, read through
the theorem's layout changes; padding that holds a value must hold it at the end; and no marked
loop may race.  Nothing here shares code with the kernel, or with the replays of a schedule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final

import numpy as np
import numpy.typing as npt

from verified_tir.ir.expr import Binary, Cast, Expr, IfThenElse, IntImm, Not, Select, Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import For, If, Stmt, Store
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import walk
from verified_tir.kernel.memory import Padding
from verified_tir.kernel.obligation import ParameterMap
from verified_tir.kernel.theorem import Refines
from verified_tir.schedule.other_order import names_of
from verified_tir.semantics.interpreter import (
    AssertionFailed,
    Outcome,
    StepLimit,
    Stopped,
    TooLarge,
    UndefinedBehaviour,
    refines,
    run,
)
from verified_tir.semantics.interpreter.outcome import same_bits
from verified_tir.semantics.operators import binary_operation
from verified_tir.semantics.values import wrap
from verified_tir.testing.callees import Callees
from verified_tir.testing.rounding import reordered_problem

Array: TypeAlias = npt.NDArray[Any]
Masks: TypeAlias = Mapping[str, Array]
STEPS: Final = 20_000
"""Stores and iterations of one run, at most."""
MORE: Final = 4
"""So many times as many as the program before took, the program after may take where it has to be compared."""


@final
class NotCompared(ValueError):
    """The program after takes too many steps, or too much memory, for the interpreter: nothing was compared."""


@final
@dataclass(frozen=True, slots=True)
class Claim:
    """What is claimed of two programs: that ``after`` refines ``before`` through layout changes and padding.

    ``reassociated`` names the buffers whose float reductions may be rounded in another order, and ``between`` are
    programs on the way from the one to the other that may have buffers of these names: ``after`` need not have them.
    """

    before: PrimFunc
    after: PrimFunc
    maps: tuple[ParameterMap, ...] = ()
    paddings: tuple[Padding, ...] = ()
    reassociated: frozenset[str] = frozenset()
    paddings_before: tuple[Padding, ...] = ()
    between: tuple[PrimFunc, ...] = ()

    @staticmethod
    def of(theorem: Refines) -> Claim:
        """What a theorem claims."""
        between = tuple(step.after for step in theorem.derivation) if theorem.reassociated else ()
        return Claim(theorem.before, theorem.after, theorem.relation, theorem.paddings, names_of(theorem),
                     between=between)  # fmt: skip


@final
@dataclass(frozen=True, slots=True)
class Given:
    """Arguments of a run: arrays and numbers by name; which elements are defined, and which may not be touched."""

    args: Mapping[str, Any]
    defined: Masks
    inaccessible: Masks


End: TypeAlias = Outcome | Stopped


def ended(func: PrimFunc, given: Given, *, licences: bool = False, steps: int = STEPS) -> End:
    """How a run ends: in arrays, or in what stopped it."""
    try:
        return run(
            func, given.args, defined=given.defined, inaccessible=given.inaccessible, check_races=licences,
            max_steps=steps, world=Callees(),
        )  # fmt: skip
    except Stopped as end:
        return end


def steps_for(first: End) -> int:
    """Stores and iterations of a program that is compared with one that ended so, at most."""
    return max(STEPS, MORE * first.steps) if isinstance(first, Outcome) else STEPS


def disagreement(
    claim: Claim,
    arguments: Mapping[str, Any],
    *,
    defined: Masks | None = None,
    first: End | None = None,
    licences: bool = True,
    strict: bool = False,
) -> str | None:
    """Where the interpreter contradicts a claim on these arguments of the program before: a sentence, or ``None``.

    :param arguments: arrays by name, in the layouts of the program before, and numbers.
    :param defined: which elements of the arrays are defined; all, unless given.
    :param first: how the program before ends, if that is known already.
    :param licences: whether marked loops are watched, too.
    :param strict: whether it is an error if the program after takes so long that nothing can be compared; if not, that
        is no disagreement.
    :raises NotCompared: then.
    """
    sizes = sizes_of(claim.before, arguments)
    given = padded(claim.before, claim.paddings_before, dict(arguments), dict(defined or {}), sizes)
    first = ended(claim.before, given) if first is None else first
    if isinstance(first, (UndefinedBehaviour, StepLimit, TooLarge)):
        return None
    for moved in moved_arguments(claim, given, sizes):
        if isinstance(moved, str):
            return moved
        second = ended(claim.after, moved, licences=licences, steps=steps_for(first) if strict else STEPS)
        if strict and isinstance(second, (StepLimit, TooLarge)) and not getattr(second, "findings", ()):
            raise NotCompared(f"{claim.after.name} cannot be compared on these arguments, after: {second}")
        problem = _judged(claim, first, second, given, sizes)
        if problem is not None:
            return problem
    return None


def _judged(claim: Claim, first: End, second: End, given: Given, sizes: Mapping[Var, int]) -> str | None:
    if isinstance(second, StepLimit):
        return f"a licence is broken: {second.findings[0]}" if second.findings else None
    if isinstance(second, TooLarge):
        return None
    if isinstance(second, UndefinedBehaviour):
        return f"undefined behaviour after: {second}"
    if not isinstance(first, Outcome) or not isinstance(second, Outcome):
        same = isinstance(first, AssertionFailed) and isinstance(second, AssertionFailed)
        same = same or (type(first) is type(second) and not isinstance(first, Outcome))
        return None if same else f"before it ends with {_shown(first)}, after with {_shown(second)}"
    if second.findings:
        return f"a licence is broken: {second.findings[0]}"
    back = moved_back(claim.maps, second, first, sizes)
    owed = _owed(first, given)
    if claim.reassociated:
        programs = (claim.before, *claim.between, claim.after)
        found = reordered_problem(programs, claim.reassociated, given.args, owed, back)
    else:
        differences = refines(owed, back)
        found = str(differences[0]) if differences else None
    return found or _padding_problem(claim, second, sizes)


def _shown(end: End) -> str:
    return "results" if isinstance(end, Outcome) else f"{type(end).__name__}: {end}"


def _owed(first: Outcome, given: Given) -> Outcome:
    """What the program before left, without padding that nobody may look at."""
    kept = dict(first.defined)
    for name, mask in given.inaccessible.items():
        kept[name] = kept[name] & ~mask
    return Outcome(first.arrays, kept, first.findings, first.steps)


# ------------------------------------------------------------------------------------------------ values of expressions


def value_of(e: Expr, env: Mapping[Var, int]) -> int:
    """The value of an index expression (a bool's as 0 or 1).

    :raises TypeError: if it is none.
    """
    match e:
        case IntImm(value=v):
            return v
        case Var():
            return env[e]
        case Binary(op="and", a=a, b=b):
            return int(bool(value_of(a, env)) and bool(value_of(b, env)))
        case Binary(op="or", a=a, b=b):
            return int(bool(value_of(a, env)) or bool(value_of(b, env)))
        case Binary(op=op, a=a, b=b):
            return int(binary_operation(op, a.dtype)(value_of(a, env), value_of(b, env)))
        case Not(a=a):
            return 1 - value_of(a, env)
        case Cast(value=a) if a.dtype.is_int and e.dtype.is_int:
            return wrap(e.dtype, value_of(a, env))
        case Select(condition=c, true_value=a, false_value=b) | IfThenElse(condition=c, true_value=a, false_value=b):
            return value_of(a if value_of(c, env) else b, env)
    raise TypeError(f"{e} is no index expression")


def sizes_of(func: PrimFunc, args: Mapping[str, Any]) -> dict[Var, int]:
    """Integer parameters and shape symbols, from the arguments."""
    shown = [n for b in func.buffers for e in (*b.shape, *b.strides, b.elem_offset) for n in walk(e)]
    wanted = [*func.params, *(n for n in shown if isinstance(n, Var))]
    sizes = {v: args[v.name] for v in wanted if v.name in args and not isinstance(args[v.name], np.ndarray)}
    for b in func.buffers:
        for e, extent in zip(b.shape, args[b.name].shape, strict=False):
            if isinstance(e, Var):
                sizes[e] = extent
    return sizes


# -------------------------------------------------------------------------------------------------- layouts and padding


def moved_arguments(claim: Claim, given: Given, sizes: Mapping[Var, int]) -> Iterator[Given | str]:
    """The arguments in the layouts of the program after; padding that may hold anything undefined, and as garbage.

    A text says that there are no such arrays.
    """
    after = claim.after
    scalars = {p.name: sizes[p] for p in after.params if p in sizes}
    for garbage in (False, True) if claim.maps else (False,):
        args, defined = dict(given.args), dict(given.defined)
        for name in dict.fromkeys(m.before.name for m in claim.maps):
            moved = _moved(claim.maps, name, args[name], defined.get(name), garbage, sizes)
            if isinstance(moved, str):
                yield moved
                return
            args[name], defined[name] = moved
        yield padded(after, claim.paddings, {**args, **scalars}, defined, sizes)


def _moved(
    maps: tuple[ParameterMap, ...], name: str, old: Array, known: Array | None, garbage: bool, sizes: Mapping[Var, int]
) -> tuple[Array, Array] | str:
    """An array in its last layout, and which of its elements are defined; or why there is no such array."""
    chain = [m for m in maps if m.before.name == name]
    rank, last = len(chain[0].inputs), chain[-1].after
    shape = tuple(value_of(e, sizes) for e in last.shape) + old.shape[rank:]
    if any(e < 0 for e in shape):
        return f"{name} has the shape {shape} after"
    new, defined = np.full(shape, 7, old.dtype), np.full(shape, garbage)
    taken = np.full(shape[: len(last.shape)], False)
    for x in np.ndindex(*old.shape[:rank]):
        y = place(chain, x, sizes)
        if isinstance(y, str):
            return f"{name}: {y}"
        if taken[y]:
            return f"{name}{list(x)} goes to {list(y)}, and so does another element"
        taken[y] = True
        new[y], defined[y] = old[x], True if known is None else known[x]
    return new, defined


def place(chain: list[ParameterMap], x: tuple[int, ...], sizes: Mapping[Var, int]) -> tuple[int, ...] | str:
    """Where an element goes through layout changes; or what is wrong with that."""
    y = x
    for m in chain:
        y = tuple(value_of(e, {**sizes, **dict(zip(m.inputs, y, strict=True))}) for e in m.outputs)
        extents = tuple(value_of(e, sizes) for e in m.after.shape)
        if not all(0 <= a < b for a, b in zip(y, extents, strict=True)):
            return f"the element {list(x)} goes to {list(y)}, outside the shape {extents}"
    return y


def padded(
    func: PrimFunc,
    paddings: tuple[Padding, ...],
    args: dict[str, Any],
    defined: dict[str, Array],
    sizes: Mapping[Var, int],
) -> Given:
    """Fill in what padding holds, and note what of it is undefined or may not be touched."""
    closed: dict[str, Array] = {}
    for p in paddings:
        name, array = p.buffer.name, args[p.buffer.name]
        known = np.array(defined.get(name, np.full(array.shape, True)))
        for y in padding_elements(p, array, sizes):
            if p.value is None:
                closed.setdefault(name, np.full(array.shape, False))[y] = True
            elif isinstance(p.at_entry, Undef):
                known[y] &= name in defined  # undefined, or garbage if the caller chose so
        defined[name] = known
    for p in paddings:  # constants before what may be read from the buffer
        if not isinstance(p.at_entry, Undef):
            _fill(func, p, args, defined, sizes)
    return Given(args, defined, closed)


def padding_elements(p: Padding, array: Array, sizes: Mapping[Var, int]) -> Iterator[tuple[int, ...]]:
    """The elements of a padding."""
    for y in np.ndindex(*array.shape[: len(p.indices)]):
        if value_of(p.predicate, {**sizes, **dict(zip(p.indices, y, strict=True))}):
            yield y


def _filled(
    func: PrimFunc, p: Padding, args: Mapping[str, Any], defined: Masks, sizes: Mapping[Var, int]
) -> tuple[Array, Array] | None:
    """The buffer with the padding's value stored where it belongs; ``None`` if the value has no meaning."""
    assert p.value is not None
    store: Stmt = If(p.predicate, Store(p.buffer, p.value, tuple(p.indices)))
    for v, extent in reversed(list(zip(p.indices, p.buffer.shape, strict=True))):
        store = For(v, const(0, v.dtype), extent, store)
    names = {b.name for b in func.buffers}
    scalars = {v.name: sizes[v] for v in func.params if v in sizes}
    arrays = {name: value for name, value in args.items() if name in names}
    end = ended(func.with_body(store), Given({**args, **arrays, **scalars}, defined, {}))
    if not isinstance(end, Outcome):
        return None
    return np.array(end.arrays[p.buffer.name]), np.array(end.defined[p.buffer.name])


def _fill(
    func: PrimFunc, p: Padding, args: dict[str, Any], defined: dict[str, Array], sizes: Mapping[Var, int]
) -> None:
    found = _filled(func, p, args, defined, sizes)
    if found is not None:
        args[p.buffer.name], defined[p.buffer.name] = found


def _padding_problem(claim: Claim, end: Outcome, sizes: Mapping[Var, int]) -> str | None:
    """Padding that holds a value must hold it at the end, too."""
    args = {**end.arrays, **{p.name: sizes[p] for p in claim.after.params if p in sizes}}
    for p in claim.paddings:
        if p.value is None or isinstance(p.value, Undef):
            continue
        found = _filled(claim.after, p, args, end.defined, sizes)
        if found is None:
            continue
        name = p.buffer.name
        wrong = found[1] & ~(end.defined[name] & same_bits(end.arrays[name], found[0]))
        for y in np.argwhere(wrong):
            index = tuple(int(k) for k in y)
            left = end.arrays[name][index] if end.defined[name][index] else "undefined"
            return f"padding: {name}{list(index)} is {left} at the end, and not {found[0][index]}"
    return None


def moved_back(maps: tuple[ParameterMap, ...], after: Outcome, before: Outcome, sizes: Mapping[Var, int]) -> Outcome:
    """What a run left in the new layouts, read in the old ones."""
    arrays, known = dict(after.arrays), dict(after.defined)
    for name in {m.before.name for m in maps}:
        chain = [m for m in maps if m.before.name == name]
        old = before.arrays[name]
        array, mask = np.zeros(old.shape, old.dtype), np.full(old.shape, False)
        for x in np.ndindex(*old.shape[: len(chain[0].inputs)]):
            y = place(chain, x, sizes)
            assert not isinstance(y, str), "the arguments were moved before"
            array[x], mask[x] = arrays[name][y], known[name][y]
        arrays[name], known[name] = array, mask
    return Outcome(arrays, known, after.findings, after.steps)
