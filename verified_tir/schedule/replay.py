"""Counterexamples, run.

A refuted obligation is only *sufficient* for a step to be right; so a counterexample of the solver is replayed: the
program before and the would-be program after the step run in the interpreter on concrete arrays.  If the results
differ, or undefined behaviour appears, the refusal is *confirmed*; otherwise it is reported as *unconfirmed*, and
nobody
calls it a miscompile.

Sizes come from the solver's model; contents are tried in turn: small distinct integers (readable), values that float
shortcuts get wrong (-0.0, NaN, infinities), constants, and a few seeded random draws.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Binary, FloatImm, IntImm, Load, Var
from verified_tir.ir.floats import numpy_dtype
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import at
from verified_tir.ir.stmt import Assume, For
from verified_tir.ir.visit import free_vars, walk
from verified_tir.kernel.memory import Padding
from verified_tir.kernel.obligation import ParameterMap
from verified_tir.schedule.index_eval import evaluate
from verified_tir.semantics.interpreter import Outcome, StepLimit, Stopped, UndefinedBehaviour, refines, run

Array = npt.NDArray[Any]

Repairs = dict[tuple[str, tuple[int, ...]], Any]
"""Elements of arguments that the program assumes to have a value."""

Question = Literal["same result", "licence", "meaning"]
"""What is looked for: a different result, two iterations of a licensed loop that meet, or undefined behaviour of the
program itself."""

STEPS = 200_000
"""How many stores and iterations a replay may take."""
REPAIRS = 200
"""How many elements of the arguments are changed to fit what the program assumes of them."""
ELEMENTS = 1 << 20
"""How many elements an argument of a replay may have."""


@final
@dataclass(frozen=True, slots=True)
class Replay:
    """What running both programs showed.

    ``message`` is one line such as ``B[0] = 91.0 before, 92.0 after``; ``arguments`` are the arrays (and sizes) given
    to
    the program before the step.
    """

    confirmed: bool
    message: str
    arguments: dict[str, Any] = field(default_factory=dict)

    def describe(self) -> str:
        """For people."""
        if self.confirmed:
            return f"replayed: {self.message} (confirmed)"
        return f"replayed: {self.message} (unconfirmed: the obligation may be stronger than needed here)"


@final
@dataclass(frozen=True, slots=True)
class Programs:
    """The two programs, with what is assumed of their padding and how their parameters correspond."""

    before: PrimFunc
    after: PrimFunc
    paddings_before: tuple[Padding, ...]
    paddings_after: tuple[Padding, ...]
    maps: tuple[ParameterMap, ...]
    question: Question = "same result"


def replay(programs: Programs, model: Mapping[str, int]) -> Replay:
    """Look for an input on which the two programs differ."""
    tried = 0
    repairs: Repairs = {}
    for sizes in _sizes(programs.before, model):
        shapes = _shapes(programs.before, sizes)
        if shapes is None:
            continue
        for arrays in _contents(programs.before, shapes):
            for (name, index), value in repairs.items():
                if all(i < n for i, n in zip(index, arrays[name].shape, strict=True)):
                    arrays[name][index] = value
            try:
                found = _LOOK[programs.question](programs, sizes, arrays, repairs)
            except StepLimit:
                break
            tried += found is not None
            if found is not None and found.confirmed:
                return found
    if not tried:
        return Replay(False, "no input small enough to run was found")
    return Replay(False, f"no difference on {tried} inputs")


def _symbols(func: PrimFunc) -> list[Var]:
    """Scalar parameters and shape symbols."""
    found = [p for p in func.params if func.buffer_of(p) is None]
    for b in func.buffers:
        for e in b.shape:
            found.extend(v for v in free_vars(e) if v not in found)
    return found


def _sizes(func: PrimFunc, model: Mapping[str, int]) -> Iterator[dict[str, int]]:
    symbols = _symbols(func)
    if not symbols:
        yield {}
        return
    first = {v.name: model.get(v.name, 5) for v in symbols}
    yield first
    for values in itertools.islice(itertools.product((3, 1, 0, 2, 5, 8, 16), repeat=len(symbols)), 60):
        sizes = {v.name: x for v, x in zip(symbols, values, strict=True)}
        if sizes != first:
            yield sizes


def _shapes(func: PrimFunc, sizes: Mapping[str, int]) -> dict[str, tuple[int, ...]] | None:
    values = {v: sizes[v.name] for v in _symbols(func) if v.dtype.is_int}
    shapes = {}
    for b in func.buffers:
        dims = [e.value if isinstance(e, IntImm) else int(evaluate([e], values)[0]) for e in b.shape]
        count = 1
        for d in dims:
            count *= d
        if any(d < 0 for d in dims) or count > ELEMENTS:
            return None
        shapes[b.name] = tuple(dims) if b.dtype.lanes == 1 else (*dims, b.dtype.lanes)
    return shapes


def _contents(func: PrimFunc, shapes: Mapping[str, tuple[int, ...]]) -> Iterator[dict[str, Array]]:
    """Arrays for the parameters, from readable to nasty."""
    buffers = func.buffers

    def each(fill: Any) -> dict[str, Array]:
        return {b.name: fill(k, b, int(np.prod(shapes[b.name], dtype=np.int64))) for k, b in enumerate(buffers)}

    def shaped(flat: Any, b: Buffer) -> Array:
        with np.errstate(all="ignore"):
            made: Array = np.asarray(flat).astype(numpy_dtype(b.dtype.scalar)).reshape(shapes[b.name])
        return made

    yield each(lambda k, b, n: shaped(np.arange(n) % 89 + k + 1, b))
    specials = np.array([-0.0, 1.0, np.nan, -0.0, np.inf, 3.0, 0.0, -np.inf, -2.5, 1e38])
    yield each(lambda k, b, n: shaped(specials[(np.arange(n) + k) % 10] if b.dtype.is_float else np.arange(n) % 3, b))
    yield each(lambda k, b, n: shaped(np.full(n, -0.0 if b.dtype.is_float else 1), b))
    yield each(lambda k, b, n: shaped(np.full(n, np.inf if b.dtype.is_float else -1), b))
    yield each(lambda k, b, n: shaped(np.zeros(n), b))
    for odd in (0, 1):  # a small value beside one that is too large or too small for most indices
        for far in (97, -97):
            yield each(lambda k, b, n, odd=odd, far=far: shaped((np.arange(n) + odd) % 2 * far, b))
    rng = np.random.default_rng(0)
    for _ in range(4):
        yield each(
            lambda k, b, n: shaped(
                rng.standard_normal(n) * 10.0 ** rng.integers(-3, 4, n)
                if b.dtype.is_float
                else rng.integers(-3, 12, n),
                b,
            )
        )


def _compare(programs: Programs, sizes: Mapping[str, int], arrays: dict[str, Array], repairs: Repairs) -> Replay | None:
    """One run of both; ``None`` if the program before has no meaning on this input, or took too long."""
    scalars = {p.name: sizes[p.name] for p in programs.before.params if programs.before.buffer_of(p) is None}
    arrays = {name: a.copy() for name, a in arrays.items()}
    masks = _pad(programs.before, programs.paddings_before, arrays, sizes)
    before = _run_as_assumed(programs.before, arrays, scalars, masks, repairs)
    if not isinstance(before, Outcome):
        return None
    moved = _move(programs.maps, arrays, sizes)
    wanted = {p.name for p in programs.after.params if programs.after.buffer_of(p) is None}
    scalars_after = {name: sizes[name] for name in wanted if name in sizes}
    masks = _pad(programs.after, programs.paddings_after, moved, sizes)
    arguments = {**arrays, **sizes}
    try:
        after = run(
            programs.after, {**moved, **scalars_after}, max_steps=4 * STEPS, defined=masks.defined,
            inaccessible=masks.inaccessible,
        )  # fmt: skip
    except UndefinedBehaviour as ub:
        when = ", ".join(f"{name} = {value}" for name, value in ub.iteration.items())
        return Replay(True, f"undefined behaviour after: {ub.message}" + (f" at {when}" if when else ""), arguments)
    except StepLimit:
        raise
    except (Stopped, ValueError, OverflowError):
        return None
    differences = refines(before, _move_back(programs.maps, after, before, sizes))
    if not differences:
        return Replay(False, "same result", arguments)
    d = differences[0]
    more = f" (and {len(differences) - 1} more)" if len(differences) > 1 else ""
    element = f"{d.buffer}[{', '.join(map(str, d.indices))}]"
    after_text = "undefined" if d.after is None else d.after
    return Replay(True, f"{element} = {d.before} before, {after_text} after{more}", arguments)


def _race(programs: Programs, sizes: Mapping[str, int], arrays: dict[str, Array], repairs: Repairs) -> Replay | None:
    """Run the program after the step and watch which iterations of its licensed loops meet."""
    del repairs
    scalars = {p.name: sizes[p.name] for p in programs.after.params if p.name in sizes}
    moved = _move(programs.maps, arrays, sizes)
    masks = _pad(programs.after, programs.paddings_after, moved, sizes)
    findings: tuple[object, ...]
    try:
        findings = run(
            programs.after, {**moved, **scalars}, max_steps=STEPS, check_licences=True, defined=masks.defined,
            inaccessible=masks.inaccessible,
        ).findings  # fmt: skip
    except StepLimit as limit:
        findings = limit.findings
    except (Stopped, ValueError, OverflowError):
        return None
    arguments = {**arrays, **sizes}
    if findings:
        return Replay(True, str(findings[0]), arguments)
    return Replay(False, "no two iterations met", arguments)


def _meaning(programs: Programs, sizes: Mapping[str, int], arrays: dict[str, Array], repairs: Repairs) -> Replay | None:
    """Run the program itself and look for undefined behaviour that is not a violated assumption."""
    scalars = {p.name: sizes[p.name] for p in programs.before.params if programs.before.buffer_of(p) is None}
    masks = _pad(programs.before, programs.paddings_before, arrays, sizes)
    outcome = _run_as_assumed(programs.before, arrays, scalars, masks, repairs, keep=True)
    arguments = {**arrays, **sizes}
    if isinstance(outcome, UndefinedBehaviour) and outcome.kind != "assume":
        when = ", ".join(f"{name} = {value}" for name, value in outcome.iteration.items())
        return Replay(True, f"undefined behaviour: {outcome.message}" + (f" at {when}" if when else ""), arguments)
    return None if outcome is None else Replay(False, "nothing undefined", arguments)


def _run_as_assumed(
    func: PrimFunc,
    arrays: dict[str, Array],
    scalars: Mapping[str, int],
    masks: Masks,
    repairs: Repairs,
    keep: bool = False,
) -> Outcome | UndefinedBehaviour | None:
    """Run the program; where it assumes ``X[…] == constant`` of a parameter, change the argument so that this holds.

    :param keep: give undefined behaviour back as a result.
    """
    for _ in range(REPAIRS):
        try:
            return run(
                func, {**arrays, **scalars}, max_steps=STEPS, defined=masks.defined, inaccessible=masks.inaccessible
            )
        except UndefinedBehaviour as ub:
            if ub.kind != "assume" or not _repair(func, arrays, scalars, ub, repairs):
                return ub if keep else None
        except StepLimit:
            raise
        except (Stopped, ValueError, OverflowError):
            return None
    return None


def _repair(
    func: PrimFunc, arrays: dict[str, Array], scalars: Mapping[str, int], ub: UndefinedBehaviour, repairs: Repairs
) -> bool:
    """Give one element of an argument the value that a violated assumption says it has."""
    stmt = at(func.body, ub.place or ())
    if not isinstance(stmt, Assume):
        return False
    values: dict[Var, Any] = {}
    for step in range(len(ub.place or ())):
        outer = at(func.body, (ub.place or ())[:step])
        if isinstance(outer, For) and outer.var.name in ub.iteration:
            values[outer.var] = ub.iteration[outer.var.name]
    values.update({p: scalars[p.name] for p in func.params if p.name in scalars})
    for e in walk(stmt.condition):
        match e:
            case Binary(op="eq", a=Load(buffer=b, indices=indices), b=(IntImm(value=x) | FloatImm(value=x))):
                if b in func.buffers:
                    try:
                        place = tuple(int(i) for i in evaluate(list(indices), values))
                        arrays[b.name][place] = repairs[b.name, place] = x
                    except (ValueError, IndexError):
                        return False
                    return True
    return False


@final
@dataclass(frozen=True, slots=True)
class Masks:
    """Elements that are defined at entry, and elements that may not be touched, by parameter."""

    defined: dict[str, Array]
    inaccessible: dict[str, Array]


def _pad(func: PrimFunc, paddings: tuple[Padding, ...], arrays: dict[str, Array], sizes: Mapping[str, int]) -> Masks:
    """Fill declared padding into the arrays; gives the interpreter's masks."""
    defined: dict[str, Array] = {}
    inaccessible: dict[str, Array] = {}
    for p in paddings:
        array = arrays.get(p.buffer.name)
        if array is None:
            continue
        grids = np.indices(array.shape[: len(p.indices)], dtype=np.int64)
        values: dict[Var, Any] = dict(zip(p.indices, grids, strict=True))
        values.update({v: sizes[v.name] for v in _symbols(func) if v.name in sizes})
        inside = np.broadcast_to(np.asarray(evaluate([p.predicate], values)[0], dtype=bool), grids.shape[1:])
        if p.value is None:
            inaccessible[p.buffer.name] = inaccessible.get(p.buffer.name, np.zeros(inside.shape, bool)) | inside
            continue
        constant = _constant(p)
        if constant is None:
            mask = defined.get(p.buffer.name, np.ones(inside.shape, bool)) & ~inside
            defined[p.buffer.name] = mask
        else:
            array[inside] = constant
    return Masks(defined, inaccessible)


def _constant(p: Padding) -> Any:
    return p.value.value if isinstance(p.value, (IntImm, FloatImm)) else None


def _move(maps: tuple[ParameterMap, ...], arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> dict[str, Array]:
    """The same arrays in the layouts that the maps lead to."""
    moved = {n: a.copy() for n, a in arrays.items()}
    for m in maps:
        old = moved[m.before.name]
        new = np.zeros(_extents(m.after, sizes), dtype=old.dtype)
        target = _target(m, old, sizes)
        inside = np.all([(t >= 0) & (t < e) for t, e in zip(target, new.shape, strict=True)], axis=0)
        new[tuple(t[inside] for t in target)] = old[inside]
        moved[m.before.name] = new
    return moved


def _move_back(maps: tuple[ParameterMap, ...], after: Outcome, before: Outcome, sizes: Mapping[str, int]) -> Outcome:
    arrays, defined = dict(after.arrays), dict(after.defined)
    for m in reversed(maps):
        old = before.arrays[m.before.name]
        target = tuple(_target(m, old, sizes))
        limits = arrays[m.before.name].shape
        if any((t < 0).any() or (t >= e).any() for t, e in zip(target, limits, strict=True)):
            arrays[m.before.name] = old.copy()
            defined[m.before.name] = np.zeros(old.shape, bool)
            continue
        arrays[m.before.name] = arrays[m.before.name][target]
        defined[m.before.name] = defined[m.before.name][target]
    return Outcome(arrays, defined, after.findings, after.steps)


def _extents(buffer: Buffer, sizes: Mapping[str, int]) -> tuple[int, ...]:
    values = {v: sizes[v.name] for e in buffer.shape for v in free_vars(e)}
    return tuple(int(x) for x in evaluate(list(buffer.shape), values))


def _target(m: ParameterMap, old: Array, sizes: Mapping[str, int]) -> list[Array]:
    grids = np.indices(old.shape, dtype=np.int64)
    values: dict[Var, Any] = dict(zip(m.inputs, grids, strict=True))
    values.update({v: sizes[v.name] for e in m.outputs for v in free_vars(e) if v not in values})
    return [np.broadcast_to(np.asarray(t), old.shape) for t in evaluate(list(m.outputs), values)]


_LOOK = {"same result": _compare, "licence": _race, "meaning": _meaning}
