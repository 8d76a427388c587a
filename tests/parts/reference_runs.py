"""Runs of the reference interpreter on random arguments: the judge of what others say about two programs.

What is drawn here is numpy's randomness from a seed, many arrays at once; ``arrays.py`` has Hypothesis strategies for
arguments that shrink.  Nothing is shared with the validator's own search for witnesses, which it is to judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final

import numpy as np
import numpy.typing as npt

from tests.semantics.scalars import apply_binary
from verified_tir.ir.dtype import DType, PointerType
from verified_tir.ir.expr import Binary, Expr, FloatImm, IntImm, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.ir.visit import free_vars, walk
from verified_tir.semantics.interpreter import (
    ArgumentError,
    AssertionFailed,
    Finding,
    Outcome,
    StepLimit,
    UndefinedBehaviour,
    Unsupported,
    run,
)
from verified_tir.validate import Correspondence

Array: TypeAlias = npt.NDArray[Any]
Arguments: TypeAlias = dict[str, Any]
Maps: TypeAlias = Mapping[str, Correspondence]
MOST_STEPS: Final = 20_000
SIZES: Final = (3, 2, 0, 1, 4, 5, 7, -1)
"""What symbols are in runs of the reference."""
KINDS: Final = ("small", "special", "normal", "near", "bits", "constants", "same", "zeros")


@final
@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended: with an ``outcome``, or else ``why`` there is none.

    ``"undefined"``: undefined behaviour; ``"assertion"``; ``"cut"``: too many steps, what the interpreter has no
    meaning for, or arguments that do not fit, which shows nothing.  ``text`` says more.
    """

    outcome: Outcome | None
    why: str = ""
    text: str = ""

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.outcome.findings if self.outcome is not None else ()


@final
@dataclass(frozen=True, slots=True)
class Masks:
    """Elements of arguments that hold nothing, and those that may not be touched, by the name of the buffer."""

    defined: Mapping[str, Array] | None = None
    inaccessible: Mapping[str, Array] | None = None


def ran(func: PrimFunc, arguments: Arguments, masks: Masks | None = None, *, licences: bool = False) -> Ended:
    """Run a function; however it ends is a value."""
    known = masks or Masks()
    try:
        outcome = run(
            func, arguments, defined=known.defined, inaccessible=known.inaccessible,
            check_races=licences, max_steps=MOST_STEPS,
        )  # fmt: skip
    except UndefinedBehaviour as end:
        return Ended(None, "undefined", str(end))
    except AssertionFailed as end:
        return Ended(None, "assertion", end.message)
    except (StepLimit, Unsupported, ArgumentError) as end:
        return Ended(None, "cut", str(end))
    return Ended(outcome)


# ------------------------------------------------------------------------------------------------------- arguments


def extent(expr: Expr, sizes: Mapping[str, int]) -> int:
    """The value of an extent at known sizes.

    :raises ArgumentError: if it reads something else than symbols and constants, or has no meaning.
    """
    match expr:
        case IntImm(value=v):
            return v
        case Var(name=name) if name in sizes:
            return sizes[name]
        case Binary(op=op, a=a, b=b):
            value, known = apply_binary(op, a.dtype, extent(a, sizes), extent(b, sizes), index=True)
            if known and isinstance(value, int):
                return value
        case _:
            pass
    raise ArgumentError(f"no size follows from {sizes} for {expr}")


def shape_of(func: PrimFunc, name: str, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The extents of a parameter; one more axis for lanes."""
    buffer = func.buffer_named(name)
    found = tuple([extent(e, sizes) for e in buffer.shape])
    return found if buffer.dtype.lanes == 1 else (*found, buffer.dtype.lanes)


def symbols(func: PrimFunc) -> dict[str, DType]:
    """The integer parameters and the symbols in shapes, strides and offsets, with their types."""
    shown = [n for b in func.buffers for e in (*b.shape, *b.strides, b.elem_offset) for n in walk(e)]
    every = dict.fromkeys([*func.params, *[n for n in shown if isinstance(n, Var)]])
    return {v.name: v.type for v in every if isinstance(v.type, DType) and v.type.is_int}


def sizes_of(func: PrimFunc, numbers: Sequence[int]) -> dict[str, int]:
    """Values for the symbols of a program, negative ones only for integers that are no extents.

    :param numbers: which of :data:`SIZES`, for each symbol in turn.
    """
    extents = {v.name for b in func.buffers for e in b.shape for v in free_vars(e)}
    found: dict[str, int] = {}
    for k, name in enumerate(symbols(func)):
        value = SIZES[numbers[k % len(numbers)] % len(SIZES)] if numbers else SIZES[0]
        found[name] = abs(value) if name in extents else value
    return found


def random_arguments(func: PrimFunc, sizes: Mapping[str, int], seed: int, number: int) -> Arguments:
    """Arguments of the kind whose turn it is (:data:`KINDS`).

    :param sizes: of every symbol of the function.
    :raises ArgumentError: if an extent is negative.
    """
    rng = np.random.default_rng([seed, number])
    kind = KINDS[number % len(KINDS)]
    pool = _constants(func)
    found: Arguments = {name: sizes[name] for name in symbols(func) if name in sizes}
    for param in func.params:
        buffer = func.buffer_of(param)
        if buffer is not None:
            shape = shape_of(func, buffer.name, sizes)
            if any(e < 0 for e in shape):
                raise ArgumentError(f"{buffer.name} would have the extents {shape}")
            found[buffer.name] = np.array(contents(buffer.dtype.scalar, shape, kind, rng, pool))
        elif not isinstance(param.type, PointerType) and param.name not in found:
            found[param.name] = contents(param.type.scalar, (1,), kind, rng, pool)[0].item()
    return found


def contents(dtype: DType, shape: tuple[int, ...], kind: str, rng: np.random.Generator, pool: Sequence[float]) -> Array:
    """Random numbers of a type."""
    target = numpy_dtype(dtype)
    if kind == "zeros":
        return np.zeros(shape, target)
    if kind == "same":
        return np.broadcast_to(contents(dtype, (1,) * len(shape), "special", rng, pool), shape).copy()
    if dtype.is_bool:
        return rng.integers(0, 2, shape).astype(target)
    if kind == "bits" or (dtype.is_int and kind == "special"):
        width = dtype.bits // 8
        whole = rng.integers(0, 256, (*shape, width), dtype=np.uint8)
        return np.ascontiguousarray(whole).view(target).reshape(shape) if whole.size else np.zeros(shape, target)
    if dtype.is_int:
        edges = [0, 1, 2, 3, 5, 7, dtype.min_value, dtype.max_value, dtype.max_value - 1, dtype.min_value + 1]
        if kind == "constants":
            edges = [int(v) for v in pool if np.isfinite(v) and dtype.min_value <= v <= dtype.max_value] or [0, 1]
        if kind in ("small", "normal"):
            return rng.integers(max(dtype.min_value, -3), 8, shape).astype(target)
        return rng.choice(np.array(edges, target), shape)
    with np.errstate(all="ignore"):
        match kind:
            case "small":
                return np.asarray(rng.integers(-3, 4, shape)).astype(target)
            case "normal":
                return np.asarray(rng.standard_normal(shape)).astype(target)
            case "near":
                return (1 + rng.integers(-3, 4, shape) / 64).astype(target)
            case "constants":
                return rng.choice(np.array(pool, np.float64), shape).astype(target)
        special = [0.0, -0.0, 0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 0.1, -2.5, 1e-45, 6e4, 1e38]
        return rng.choice(np.array(special), shape).astype(target)


def _constants(func: PrimFunc) -> list[float]:
    """Numbers in the program with their neighbours: conditions compare with them."""
    found: dict[float, None] = dict.fromkeys((0.0, 1.0))
    for node in walk(func.body):
        match node:
            case IntImm(value=v) if abs(v) < 1 << 53:
                found.update(dict.fromkeys((float(v), float(v - 1), float(v + 1))))
            case FloatImm(value=v):
                found.update(dict.fromkeys((v, -v)))
            case _:
                continue
    return list(found)[:64]


# --------------------------------------------------------------------------------------------------------- layouts


def moved(
    before: PrimFunc, after: PrimFunc, arguments: Arguments, sizes: Mapping[str, int], maps: Maps
) -> tuple[Arguments, Masks]:
    """The arguments of ``after``, whose parameters correspond by position, some in another layout.

    :param maps: by the name of the parameter in ``before``.
    """
    found: Arguments = {name: sizes[name] for name in symbols(after) if name in sizes}
    defined: dict[str, Array] = {}
    inaccessible: dict[str, Array] = {}
    for old, new in zip(before.params, after.params, strict=False):
        one, two = before.buffer_of(old), after.buffer_of(new)
        if one is None or two is None:
            if one is None and two is None:
                found[new.name] = arguments[old.name]
            continue
        array = arguments[one.name]
        moves = maps.get(one.name)
        if moves is None or moves.index_map is None:
            found[two.name] = array.reshape(shape_of(after, two.name, sizes)).copy()
            continue
        places, inside = images(array, shape_of(after, two.name, sizes), moves, one.dtype.lanes)
        padding = moves.padding
        there = np.zeros(inside.shape, array.dtype)
        if padding is not None and padding != "undef":
            there[...] = padding
        there[places] = array
        found[two.name] = there
        if padding == "undef":
            defined[two.name] = inside
        elif padding is None:
            inaccessible[two.name] = ~inside
    return found, Masks(defined, inaccessible)


def images(array: Array, shape: tuple[int, ...], moves: Correspondence, lanes: int) -> tuple[tuple[Array, ...], Array]:
    """Where each element of an array goes, as indices; and which elements of the new layout are no padding.

    The lanes of an element are on an axis of their own, which stays the last.
    """
    assert moves.index_map is not None
    box = array.shape if lanes == 1 else array.shape[:-1]
    given = np.indices(box, dtype=np.int64)
    places = tuple([np.broadcast_to(np.asarray(k), box) for k in moves.index_map(*given)])
    inside = np.zeros(shape, np.bool_)
    inside[places] = True
    return places, inside


@final
@dataclass(frozen=True, slots=True)
class Gap:
    """An element whose defined value is not kept: its parameter, by name in *before*, index, and the two values."""

    name: str
    index: tuple[int, ...]
    before: object
    after: object | None

    def __str__(self) -> str:
        after = "undefined" if self.after is None else repr(self.after)
        where = f"{self.name}[{', '.join(map(str, self.index))}]" if self.index or self.name else self.name
        return f"{where} is {self.before!r} before and {after} after"


def gaps(before: PrimFunc, after: PrimFunc, first: Outcome, second: Outcome, maps: Maps) -> Iterator[Gap]:
    """Where the end of one run does not refine that of the other: values that are not kept, padding that is not."""
    for old, new in zip(before.params, after.params, strict=False):
        one, two = before.buffer_of(old), after.buffer_of(new)
        if one is None or two is None:
            continue
        a, known = first.arrays[one.name], first.defined[one.name]
        b, there = second.arrays[two.name], second.defined[two.name]
        moves = maps.get(one.name)
        if moves is None or moves.index_map is None:
            yield from _gaps(one.name, a, known, b.reshape(a.shape), there.reshape(a.shape))
            continue
        places, inside = images(a, b.shape, moves, one.dtype.lanes)
        yield from _gaps(one.name, a, known, b[places], there[places])
        if moves.padding not in (None, "undef"):
            owed = np.full(b.shape, moves.padding, b.dtype)
            yield from _gaps(f"the padding of {two.name}", owed, ~inside, b, there)


def _gaps(name: str, a: Array, known: Array, b: Array, there: Array) -> Iterator[Gap]:
    for where in np.argwhere(known & ~(there & same_bits(a, b))):
        index = tuple(int(k) for k in where)
        yield Gap(name, index, _plain(a[index]), _plain(b[index]) if there[index] else None)


def same_bits(a: Array, b: Array) -> Array:
    """Elementwise: equal bits, or both NaN."""
    unsigned = f"u{a.dtype.itemsize}"
    one, two = np.ascontiguousarray(a).view(unsigned), np.ascontiguousarray(b).view(unsigned)
    nan = (a != a) & (b != b)
    return np.asarray((one.reshape(a.shape) == two.reshape(b.shape)) | nan)


def _plain(value: Any) -> object:
    return value.item() if isinstance(value, np.generic) else value
