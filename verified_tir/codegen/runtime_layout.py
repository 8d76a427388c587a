"""Arrays between the layout in which the program was written and the one in which it is called.

A schedule that changed the layout of a parameter proved what it did with maps, one for each change.  ``pack`` carries
an array through them, ``unpack`` back.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from verified_tir.codegen.entry_objects import Array
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import (
    Binary,
    Call,
    Cast,
    Expr,
    IfThenElse,
    IntImm,
    Load,
    Not,
    Select,
    Undef,
    Var,
)
from verified_tir.ir.node import IRError
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.ir.script import script
from verified_tir.ir.visit import free_vars, walk
from verified_tir.kernel.memory import Padding
from verified_tir.kernel.obligation import ParameterMap
from verified_tir.kernel.theorem import Refines
from verified_tir.semantics.errors import ArgumentError
from verified_tir.semantics.interpreter import Stopped
from verified_tir.semantics.interpreter.arguments import array_extents, enter, leave
from verified_tir.semantics.interpreter.expressions import meaning_of
from verified_tir.semantics.interpreter.frame import Frame, Run
from verified_tir.semantics.memory import Extents, View

Values = dict[Var, Any]
"""Numbers or numpy arrays, by variable."""

_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul,
    "floordiv": operator.floordiv, "floormod": operator.mod,
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "and": np.logical_and, "or": np.logical_or, "min": np.minimum, "max": np.maximum,
    "bitand": operator.and_, "bitor": operator.or_, "bitxor": operator.xor,
    "shl": operator.lshift, "shr": operator.rshift,
}  # fmt: skip


def evaluate(expr: Expr, values: Mapping[Var, Any]) -> Any:
    """The value of an expression of integers and bools, on numbers or on whole numpy arrays of indices.

    Everything has its own type, so that data wraps as in a program.  Lazy operators evaluate everything here; what a
    program would not evaluate has no effect on the result.

    :raises ValueError: if there is something else in it.
    """

    def go(e: Expr) -> Any:
        match e:
            case IntImm(type=t, value=v):
                return numpy_dtype(t).type(v)
            case Var() if e in values:
                return np.asarray(values[e]).astype(numpy_dtype(e.dtype))
            case Not(a=a):
                return np.logical_not(go(a))
            case Cast(type=t, value=v) if not (t.is_float or v.dtype.is_float):
                return go(v).astype(numpy_dtype(t))
            case Binary(op="truncdiv" | "truncmod" as op, a=a, b=b):
                x, y = go(a), go(b)
                quotient = x // y + ((x % y != 0) & ((x < 0) != (y < 0)))
                return quotient if op == "truncdiv" else x - quotient * y
            case Binary(op=op, a=a, b=b) if op in _OPERATIONS and not a.dtype.is_float:
                return _OPERATIONS[op](go(a), go(b))
            case (
                Select(condition=c, true_value=a, false_value=b) | IfThenElse(condition=c, true_value=a, false_value=b)
            ):
                return np.where(go(c), go(a), go(b))
            case Call(op="likely", args=(a,)):
                return go(a)
        raise ValueError(f"{script(expr)} is not evaluated on arrays")

    with np.errstate(all="ignore"):
        return go(expr)


def grid(shape: Sequence[int]) -> tuple[npt.NDArray[np.int64], ...]:
    """One array of indices for each axis, which broadcast to the shape."""
    return np.ix_(*[np.arange(n, dtype=np.int64) for n in shape]) if shape else ()


@final
@dataclass(frozen=True, slots=True)
class Padded:
    """Elements of an array that are padding.

    :ivar where: one bool for each element: whether it is.
    :ivar values: what is declared to be there, for each of these elements; ``None`` if nothing is.
    :ivar defined: of which values, or lanes of values, something is said: a value may be undefined.
    """

    where: npt.NDArray[np.bool_]
    values: Array | None = None
    defined: npt.NDArray[np.bool_] | None = None


def padded_places(padding: Padding, array: Array, symbols: Mapping[Var, Any]) -> Padded:
    """Where an array has this padding, and what it declares to be there: what the interpreter computes.

    :raises ValueError: if that cannot be computed.
    """
    shape = array.shape[: len(padding.indices)]
    values = {**symbols, **dict(zip(padding.indices, grid(shape), strict=True))}
    # a constant is a number here, and numbers would choose elements by their index
    where = np.broadcast_to(np.asarray(evaluate(padding.predicate, values)).astype(np.bool_), shape)
    value = padding.value
    if value is None or isinstance(value, Undef):
        return Padded(where)
    places = np.argwhere(where).tolist()
    variables = set(free_vars(value))
    if variables.isdisjoint(padding.indices):
        places = places[:1]  # it is the same everywhere
    sizes = {v: operator.index(symbols[v]) for v in variables if v in symbols}
    try:
        found, defined = _interpreted(padding, value, array, places, sizes)
    except (Stopped, ArgumentError, IRError) as problem:
        what = f"{padding.buffer.name}: the value of its padding, {script(value)}, cannot be computed"
        raise ValueError(f"{what}: {problem}") from None
    count = (int(np.count_nonzero(where)), *found.shape[1:])
    return Padded(where, np.broadcast_to(found, count), np.broadcast_to(defined, count))


def _interpreted(
    padding: Padding, value: Expr, array: Array, places: list[list[int]], sizes: Mapping[Var, int]
) -> tuple[Array, npt.NDArray[np.bool_]]:
    """The value at some places, by the interpreter, which stores it as it would in a program."""
    b, frame = padding.buffer, Frame(Run())
    frame.values.update(sizes)
    if any(isinstance(n, Load) for n in walk(value)):
        whole = np.ascontiguousarray(array)
        frame.views[b] = enter(frame.run, b, array_extents(b, whole), whole, defined=None, inaccessible=None)
    row = Extents((len(places),), (1,))
    made = View(b.name, b.dtype, frame.run.new_block(b.name, len(places) * b.dtype.nbytes), row)
    compute = meaning_of(value, frozenset())
    for k, place in enumerate(places):
        frame.values.update(zip(padding.indices, place, strict=True))
        made.store((k,), compute(frame))
    return leave(made, b.dtype)


class Layouts:
    """The layouts of the parameters of a theorem's last program."""

    def __init__(self, theorem: Refines) -> None:
        self.maps: dict[str, list[ParameterMap]] = {}
        for b in theorem.before.buffers:
            chain: list[ParameterMap] = []
            last = b
            for m in theorem.relation:
                if m.before is last:
                    chain.append(m)
                    last = m.after
            self.maps[b.name] = chain

    def chain(self, name: str) -> list[ParameterMap]:
        """:raises ValueError: if there is no array parameter of the name."""
        if name not in self.maps:
            raise ValueError(f"there is no array parameter {name!r}; there is {', '.join(self.maps) or 'none'}")
        return self.maps[name]

    def pack(self, name: str, array: Array, sizes: Mapping[str, int]) -> Array:
        """A copy of the array in the new layout, padding filled with what is declared (else with zeros)."""
        symbols: Values = {}
        packed = np.array(array)
        for m in self.chain(name):
            extents = _known(m.before, packed.shape, symbols, sizes)
            shape = tuple(int(_extent(name, e, symbols, sizes)) for e in m.after.shape)
            if extents != packed.shape[: len(extents)]:
                raise ValueError(f"{name} has shape {list(extents)}; an array of shape {packed.shape} was given")
            new = np.zeros((*shape, *packed.shape[len(extents) :]), dtype=packed.dtype)
            new[_places(m, extents, symbols)] = packed
            for p in m.paddings:
                padded = padded_places(p, new, symbols)
                if padded.values is not None:
                    new[padded.where] = padded.values
            packed = new
        return packed

    def unpack(
        self, name: str, array: Array, sizes: Mapping[str, int], known: Mapping[Var, Any] | None = None
    ) -> Array:
        """A copy of the array in the layout in which the program was written."""
        symbols: Values = dict(known or {})
        unpacked = np.array(array)
        for m in reversed(self.chain(name)):
            extents = _known(m.after, unpacked.shape, symbols, sizes)
            if extents != unpacked.shape[: len(extents)]:
                raise ValueError(f"{name} has shape {list(extents)} here; an array of shape {unpacked.shape} was given")
            shape = tuple(int(_extent(name, e, symbols, sizes)) for e in m.before.shape)
            unpacked = unpacked[_places(m, shape, symbols)].reshape((*shape, *unpacked.shape[len(extents) :]))
        return unpacked


def _places(m: ParameterMap, shape: Sequence[int], symbols: Values) -> tuple[Any, ...]:
    """Where each element of the old layout is in the new one."""
    values = {**symbols, **dict(zip(m.inputs, grid(shape), strict=True))}
    return tuple(np.broadcast_to(evaluate(e, values), tuple(shape)) for e in m.outputs)


def _known(buffer: Buffer, shape: Sequence[int], symbols: Values, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The buffer's extents; symbols that are extents by themselves get their values from ``shape``."""
    if len(shape) < len(buffer.shape):
        raise ValueError(
            f"{buffer.name} has {len(buffer.shape)} dimensions; an array of shape {tuple(shape)} was given"
        )
    for e, extent in zip(buffer.shape, shape, strict=False):
        if isinstance(e, Var):
            symbols.setdefault(e, extent)
    return tuple(int(_extent(buffer.name, e, symbols, sizes)) for e in buffer.shape)


def _extent(name: str, expr: Expr, symbols: Values, sizes: Mapping[str, int]) -> Any:
    for v in free_vars(expr):
        if v not in symbols:
            if v.name not in sizes:
                raise TypeError(f"the array does not say what {v.name} in the shape of {name} is; give it: {v.name}=…")
            symbols[v] = sizes[v.name]
    return evaluate(expr, symbols)
