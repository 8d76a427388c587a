"""Looking for a difference with concrete inputs: both programs are run by the interpreter.

Only what is found here is ever called different.  An input on which *before* has undefined behaviour shows nothing:
that is also how inputs that violate an assumption are passed over.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import FloatImm, IntImm, Load
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.ir.stmt import Store
from verified_tir.ir.visit import walk
from verified_tir.semantics.interpreter import (
    ArgumentError,
    AssertionFailed,
    Outcome,
    StepLimit,
    UndefinedBehaviour,
    Unsupported,
    run,
)
from verified_tir.semantics.interpreter.outcome import same_bits
from verified_tir.validate.interface import Parameter, Side
from verified_tir.validate.solve import Inputs
from verified_tir.validate.verdict import Different

Array = npt.NDArray[Any]
KINDS = ("small", "normal", "special", "zeros", "extreme", "negative")
_ORDER = (*KINDS[:2], "constants", *KINDS[2:], "minus")
_LAST = ("edges", "high", "low")
AGAIN = ("special", "small", "constants", "lone", "negative", "normal")
_MOST_CONSTANTS = 24
_MOST_SCALARS = 1 << 24  # in the arguments of all inputs together; large arrays take long to fill and to compare
_NEAR = 1e-3  # of what rounding in another order may explain, where inputs are small integers
_MORE = 48  # further inputs of special values, for programs that run quickly


@final
@dataclass(frozen=True, slots=True)
class Search:
    """What concrete runs showed: a witness, how many of the ``tried`` runs of *before* were undefined.

    ``why`` says what else kept them from showing more: a run that took too many steps, or that met what the interpreter
    has no meaning for.
    """

    witness: Different | None
    tried: int = 0
    undefined: int = 0
    why: str = ""


def search(
    before: Side,
    after: Side,
    *,
    steps: int,
    most: int = len(_ORDER) + _MORE + len(_LAST),
    passed_over: Mapping[int, Array] | None = None,
    proposed: Iterable[Inputs] = (),
) -> Search:
    """Run both programs on ``most`` inputs of different kinds, ``steps`` stores and iterations at most in each run.

    :param proposed: values of some inputs; each is tried before the others, among zeros and among small numbers.
    :param passed_over: elements (by position of the parameter, in rows of lanes) whose differences count for nothing:
        sums known to be taken in another order.  ``None`` if nothing is known about the terms: then what another order
        of float sums might explain counts for nothing.
    """
    tried = undefined = spent = 0
    weak: Different | None = None
    pool = constants(before.func, after.func)
    rounded = passed_over is None and (_accumulates(before.func) or _accumulates(after.func))
    scalars = sum(math.prod(p.shape) * p.buffer.dtype.lanes for p in before.params if p.buffer is not None)
    most = min(most, 1 + _MOST_SCALARS // max(scalars, 1))
    kinds = (*_ORDER, *(AGAIN * (_MORE // len(AGAIN))), *_LAST)[:most]
    every = [(inputs, kind, -1) for inputs in proposed for kind in ("zeros", "small")]
    for inputs, kind, number in (*every, *(({}, kind, number) for number, kind in enumerate(kinds))):
        if number >= len(_ORDER) and spent > steps // 2:
            break
        seed = max(number, 0) - (number >= len(_ORDER))  # "minus" draws nothing
        arguments = _with_inputs(before, arguments_of(before, kind, seed, pool), inputs)
        try:
            first = run(before.func, arguments, max_steps=steps)
        except UndefinedBehaviour:
            tried, undefined = tried + 1, undefined + 1
            continue
        except (StepLimit, Unsupported, AssertionFailed, ArgumentError) as problem:
            return Search(weak, tried, undefined, f"before could not be run: {problem}")
        tried += 1
        spent += first.steps
        try:
            found = _compare(before, after, arguments, first, steps, _Counting(passed_over, rounded, kind))
        except (StepLimit, Unsupported, ArgumentError) as problem:
            return Search(weak, tried, undefined, f"after could not be run: {problem}")
        if found is not None and not _nan_is_lost(found):
            return Search(found, tried, undefined)
        weak = weak or found
    return Search(weak, tried, undefined)


def _nan_is_lost(found: Different) -> bool:
    """Whether a NaN became undef.  Re-reading a NaN's bits does that; another difference tells more."""
    return found.element != "" and found.after is None and found.before != found.before


@final
@dataclass(frozen=True, slots=True)
class _Counting:
    """Which differences count; see :func:`search`."""

    passed_over: Mapping[int, Array] | None
    rounded: bool
    kind: str

    def of(self, wrong: Array, parameter: Parameter, before: Array, after: Array, defined: Array) -> Array:
        if self.passed_over is not None:
            ignored = self.passed_over.get(parameter.position)
            return wrong if ignored is None else wrong & ~ignored
        if not self.rounded or parameter.buffer is None or not parameter.buffer.dtype.is_float:
            return wrong
        if self.kind not in ("small", "zeros"):  # here sums of inputs are exact in any order
            return wrong & ~defined
        with np.errstate(all="ignore"):
            one, other = before.astype(np.float64), after.astype(np.float64)
            largest = np.maximum(np.maximum(np.abs(one), np.abs(other)), 1.0)
            near = np.abs(one - other) <= _NEAR * largest
        return np.asarray(wrong & ~(defined & near))


def _accumulates(func: PrimFunc) -> bool:
    """Whether floats are summed up in memory, so that another order of the loops is another order of a sum."""
    return any(
        isinstance(s, Store)
        and s.buffer.dtype.is_float
        and any(isinstance(n, Load) and n.buffer.data is s.buffer.data for n in walk(s.value))
        for s in walk(func.body)
    )


def _compare(
    before: Side, after: Side, arguments: dict[str, Any], first: Outcome, steps: int, counting: _Counting
) -> Different | None:
    moved, masks, closed = _moved(before, after, arguments)
    try:
        second = run(after.func, moved, defined=masks, inaccessible=closed, max_steps=steps)
    except UndefinedBehaviour as end:
        return Different(arguments, moved, "", None, str(end))
    except AssertionFailed as end:
        return Different(arguments, moved, "", None, f"the assertion {end.message!r}")
    for old, new in zip(before.params, after.params, strict=True):
        if old.buffer is None or new.buffer is None:
            continue
        one, known = _flat(first.arrays[old.name], old), _flat(first.defined[old.name], old)
        other, there = _images(second.arrays[new.name], new), _images(second.defined[new.name], new)
        wrong = counting.of(known & ~(there & same_bits(one, other)), old, one, other, there)
        if wrong.any():
            k, lane = (int(i) for i in _telling(wrong, one, there))
            return Different(
                arguments, moved, old.element_name(k, lane), one[k, lane], other[k, lane] if there[k, lane] else None
            )
        if new.padding not in (None, "undef") and new.rest.size:
            padding = _padding(second.arrays[new.name], new)
            want = np.full_like(padding, new.padding)
            there = _padding(second.defined[new.name], new)
            wrong = ~(there & same_bits(padding, want))
            if wrong.any():
                k, lane = (int(i) for i in np.argwhere(wrong)[0])
                now = padding[k, lane] if there[k, lane] else None
                return Different(arguments, moved, f"the padding of {new.name}", want[k, lane], now)
    return None


def _telling(wrong: Array, before: Array, defined: Array) -> Array:
    """The first place of those that differ, one that is more than a NaN become undef if there is any."""
    with np.errstate(all="ignore"):
        more = wrong & (defined | (before == before))  # noqa: PLR0124
    return np.asarray(np.argwhere(more if more.any() else wrong)[0])


# ------------------------------------------------------------------------------------------------------ arguments


def _flat(array: Array, parameter: Parameter) -> Array:
    """Elements in row-major order, one row each, lanes in columns."""
    return array.reshape(-1, parameter.lanes)


def _places(parameter: Parameter) -> npt.NDArray[np.int64]:
    """Where each element of *before* is in the array of *after*, counted in row-major order."""
    if not parameter.shape:
        return np.zeros(1, dtype=np.int64)
    found: npt.NDArray[np.int64] = np.ravel_multi_index(parameter.images, parameter.shape).astype(np.int64)
    return found


def _images(array: Array, parameter: Parameter) -> Array:
    return _flat(array, parameter)[_places(parameter)]


def _padding(array: Array, parameter: Parameter) -> Array:
    flat = _flat(array, parameter)
    inside = np.zeros(len(flat), dtype=np.bool_)
    inside[_places(parameter)] = True
    return flat[~inside]


def _moved(
    before: Side, after: Side, arguments: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Array], dict[str, Array]]:
    """The arguments of *after*, which of their elements are undefined, and which inaccessible."""
    moved: dict[str, Any] = {}
    masks: dict[str, Array] = {}
    closed: dict[str, Array] = {}
    for old, new in zip(before.params, after.params, strict=True):
        value: Any = arguments.get(old.name)
        if old.buffer is None or new.buffer is None:
            moved[new.name] = value
            continue
        full = new.shape if new.lanes == 1 else (*new.shape, new.lanes)
        flat = np.zeros((math.prod(new.shape), new.lanes), dtype=value.dtype)
        places = _places(new)
        if new.padding not in (None, "undef"):
            flat[:] = new.padding
        flat[places] = _flat(value, new)
        moved[new.name] = flat.reshape(full)
        inside = np.zeros(flat.shape, dtype=np.bool_)
        inside[places] = True
        if not inside.all():
            if new.padding == "undef":
                masks[new.name] = inside.reshape(full)
            elif new.padding is None:
                closed[new.name] = ~inside.reshape(full)
    moved.update(_symbols(after))
    return moved, masks, closed


def _symbols(side: Side) -> dict[str, int]:
    """The symbols of a program that are no parameters, by name."""
    params = {p.var for p in side.params}
    return {v.name: n for v, n in side.values.items() if v not in params}


def constants(*funcs: PrimFunc) -> list[float]:
    """Numbers in the programs, which conditions may compare with, and their neighbours; some, if there are many."""
    found: dict[float, None] = {}
    for func in funcs:
        for node in walk(func.body):
            match node:
                case IntImm(value=v) if not node.type.is_bool:
                    found.update(dict.fromkeys((v, v - 1, v + 1)))
                case FloatImm(value=v) if math.isfinite(v):
                    found.update(dict.fromkeys((v, -v, v * 1.5)))
                case _:
                    continue
    step = len(found) // _MOST_CONSTANTS + 1
    return list(found)[::step] or [0, 1]


def arguments_of(side: Side, kind: str, seed: int, pool: Sequence[float] = (0, 1)) -> dict[str, Any]:
    """Arguments for the interpreter by name, with contents of a kind; the same ones each time."""
    rng = np.random.default_rng(seed)
    found: dict[str, Any] = dict(_symbols(side))
    for p in side.params:
        if p.buffer is None:
            if p.var in side.values:
                found[p.var.name] = side.values[p.var]
            elif not p.var.dtype.is_int and p.var.dtype.code not in ("handle", "void"):
                found[p.var.name] = contents(p.var.dtype, (1,), kind, rng, pool)[0].item()
            continue
        lanes = p.buffer.dtype.lanes
        shape = p.shape if lanes == 1 else (*p.shape, lanes)
        found[p.buffer.name] = contents(p.buffer.dtype.scalar, shape, kind, rng, pool)
    return found


def _with_inputs(side: Side, arguments: dict[str, Any], inputs: Inputs) -> dict[str, Any]:
    """The arguments with some scalars replaced."""
    for (position, number), value in inputs.items():
        p = side.params[position]
        dtype = p.var.dtype if p.buffer is None else p.buffer.dtype.scalar
        bits: Array = np.array([value], dtype=f"{'i' if dtype.code == 'int' else 'u'}{dtype.nbytes}")
        scalar = bits.view(numpy_dtype(dtype))
        if p.buffer is None:
            arguments[p.var.name] = scalar[0].item()
        else:
            arguments[p.buffer.name].reshape(-1)[number] = scalar[0]
    return arguments


def contents(
    dtype: DType, shape: tuple[int, ...], kind: str, rng: np.random.Generator, pool: Sequence[float] = (0, 1)
) -> Array:
    """Random contents of a kind: small numbers, special ones (NaN, infinities, zeros of both signs), extreme ones …"""
    return np.asarray(_contents(dtype, shape, kind, rng, pool))  # numpy makes numbers of arrays without dimensions


def _contents(dtype: DType, shape: tuple[int, ...], kind: str, rng: np.random.Generator, pool: Sequence[float]) -> Any:
    target = numpy_dtype(dtype)
    if kind == "zeros":
        return np.zeros(shape, dtype=target)
    if kind == "minus":  # -0.0 throughout, which sums with 0.0 lose; and all bits of integers
        return np.full(shape, -0.0 if dtype.is_float else dtype.max_value if dtype.code != "int" else -1, dtype=target)
    if dtype.is_bool:
        return rng.integers(0, 2, shape).astype(target)
    if kind == "bits":
        raw = rng.integers(0, 2**dtype.bits - 1, shape, dtype=np.uint64, endpoint=True)
        return raw.astype(f"uint{dtype.bits}").view(target)
    if dtype.is_int:
        return _integers(dtype, shape, kind, rng, pool)
    with np.errstate(all="ignore"):
        match kind:
            case "small":
                return rng.integers(-4, 5, shape).astype(target)
            case "constants":
                return rng.choice(np.array(pool, dtype=np.float64), shape).astype(target)
            case "special" | "edges" | "ends":
                numbers = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.5, 1e-45, 6e4]
                numbers += [3e38, 0.1, 2.5] if kind == "ends" else []
                return rng.choice(np.array(numbers), shape).astype(target)
            case "lone":  # one special number among others, often at the end, where nothing comes after it
                flat = rng.standard_normal(math.prod(shape))
                if flat.size:
                    flat[rng.choice(np.array([0, -1, int(rng.integers(flat.size))]))] = rng.choice(
                        [np.nan, np.inf, -np.inf, -0.0]
                    )
                return flat.reshape(shape).astype(target)
            case "extreme":
                return (rng.standard_normal(shape) * np.exp(rng.uniform(-80, 80, shape))).astype(target)
            case "high" | "low":
                large = rng.integers(1, 5, shape) * 2.0**14
                return (large if kind == "high" else -large).astype(target)
            case "negative":
                return np.where(rng.random(shape) < 0.5, -0.0, -np.abs(rng.standard_normal(shape))).astype(target)
        return rng.standard_normal(shape).astype(target)


def _integers(dtype: DType, shape: tuple[int, ...], kind: str, rng: np.random.Generator, pool: Sequence[float]) -> Any:
    target, low, high = numpy_dtype(dtype), dtype.min_value, dtype.max_value
    if kind == "constants":
        fitting = [int(v) for v in pool if low <= v <= high] or [0]
        return rng.choice(np.array(fitting, dtype=target), shape)
    if kind == "ends":
        return rng.choice(np.array((low, high, 0, 1 if dtype.code == "uint" else -1), dtype=target), shape)
    if kind == "edges":  # where sums begin to wrap, for those with the programs' numbers too
        near = {0, 1, 2, *[abs(int(v)) for v in pool if abs(v) < high // 4]}
        edges = [v for k in sorted(near) for v in (low + k, high - k, k) if low <= v <= high]
        return rng.choice(np.array(edges, dtype=target), shape)
    if kind in ("high", "low"):  # all beyond any number of the programs, for minima and maxima
        steps = rng.integers(0, 5, shape).astype(target)
        return (high - steps if kind == "high" else low + steps).astype(target)
    if kind in ("special", "extreme"):
        return rng.integers(low, high, shape, dtype=target, endpoint=True)
    least = -4 if dtype.code == "int" and kind in ("negative", "normal") else 0
    return rng.integers(least, 5, shape).astype(target)
