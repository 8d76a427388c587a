"""What a call must look like: the conditions that the entry checks, read off a function and its theorem.

A plan says nothing about how they are checked.  ``entry_conditions`` lists its conditions one by one; ``entry_check``
checks those in Python, with every message, and ``entry_text`` writes them as LLVM IR, without any.

The kernel's own parameters come in this order: those of the function (the address of a buffer's block, or a scalar),
then the shape symbols that are no parameters, by first occurrence (buffer by buffer: shape, strides, offset).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, final
from weakref import WeakKeyDictionary

from verified_tir.codegen.entry_work import release_above
from verified_tir.codegen.errors import CodegenError
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType, PointerType
from verified_tir.ir.expr import Expr, IntImm, Load, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.script import script
from verified_tir.ir.visit import free_vars, walk
from verified_tir.kernel.begin import LARGEST
from verified_tir.kernel.effects import EVERYTHING, written_blocks
from verified_tir.kernel.theorem import Refines


@final
@dataclass(frozen=True, slots=True)
class ArrayParameter:
    """An array: the buffer it stands for, whether the function writes it, the alignment of its block in bytes."""

    buffer: Buffer
    written: bool
    alignment: int

    @property
    def name(self) -> str:
        return self.buffer.name

    @property
    def rank(self) -> int:
        """Dimensions of the array: those of the buffer, and one more for lanes."""
        return len(self.buffer.shape) + (self.buffer.dtype.lanes > 1)


@final
@dataclass(frozen=True, slots=True)
class ScalarParameter:
    """A number.  ``bounds`` are the least and the greatest integer: of the type, or of an extent, if it is that of some
    array."""

    var: Var
    bounds: tuple[int, int]

    @property
    def name(self) -> str:
        return self.var.name


Parameter: TypeAlias = ArrayParameter | ScalarParameter


@final
@dataclass(frozen=True, slots=True)
class Binding:
    """A symbol gets its value from ``array``: the extent (or, with ``stride``, the stride in elements) of ``axis``.

    ``array`` is a position among the parameters; ``None`` means zero, the offset of an array in its own memory.
    ``bounds`` as in :class:`ScalarParameter`.
    """

    var: Var
    bounds: tuple[int, int]
    array: int | None
    axis: int = 0
    stride: bool = False


@final
@dataclass(frozen=True, slots=True)
class EntryPlan:
    """The conditions on a call.

    :param bindings: the symbols, in the order in which the kernel takes them.
    :param shapes: buffers whose extents must be those of arrays: not negative, and countable.  The parameters, and what
        they were before their layouts changed.
    :param floats: whether the floating-point control register must be in its usual state.
    :param release: how many bytes all arrays together must exceed for the interpreter's lock to be released during the
        call; ``None`` if it is kept.
    """

    func: PrimFunc
    parameters: tuple[Parameter, ...]
    bindings: tuple[Binding, ...]
    shapes: tuple[Buffer, ...]
    floats: bool
    release: int | None

    @property
    def arrays(self) -> tuple[tuple[int, ArrayParameter], ...]:
        """The arrays with their positions among the parameters."""
        return tuple((k, p) for k, p in enumerate(self.parameters) if isinstance(p, ArrayParameter))

    @property
    def text(self) -> str:
        """The parameters as a person reads them: ``A: float32[n, 4], n: int32``."""
        return ", ".join(f"{p.name}: {described(p)}" for p in self.parameters)


def described(parameter: Parameter) -> str:
    """The type of a parameter: ``float32[n, 4]``."""
    match parameter:
        case ArrayParameter(buffer=b):
            lanes = [str(b.dtype.lanes)] if b.dtype.lanes > 1 else []
            return f"{b.dtype.scalar}[{', '.join([*map(_text, b.shape), *lanes])}]"
        case ScalarParameter(var=v):
            return str(v.dtype)


def _text(extent: Expr) -> str:
    match extent:
        case IntImm(value=v):  # these two are most extents, and need no printer
            return str(v)
        case Var(name=name):
            return name
        case _:
            return script(extent)


def entry_plan(theorem: Refines) -> EntryPlan:
    """The plan of the program that the theorem ends with.

    :raises CodegenError: if the arguments of a call would not determine what the program needs.
    """
    func = theorem.after
    extents = _bare_extents((*func.buffers, *theorem.entry.shapes))
    parameters = tuple(_parameter(func, p, extents) for p in func.params)
    _refuse_one_name_twice(func, parameters)
    bindings = tuple(_binding(func, parameters, v, extents) for v in symbols(func))
    known = {*func.params, *(b.var for b in bindings)}
    before = tuple(b for b in theorem.entry.shapes if b not in func.buffers)
    for b in before:
        if not known.issuperset(free_vars_of(b)):
            raise CodegenError(f"a call would not say what shape {b.name} had in the program as it was written")
    body = _body(func)
    return EntryPlan(func, parameters, bindings, (*func.buffers, *before), body.floats, body.release)


def symbols(func: PrimFunc) -> tuple[Var, ...]:
    """Variables in the parameters' extents that are no parameters, in the order in which the kernel takes them."""
    found = (v for b in func.buffers for e in (*b.shape, *b.strides, b.elem_offset) for v in _variables(e))
    return tuple(v for v in dict.fromkeys(found) if v not in func.params)


def free_vars_of(buffer: Buffer) -> list[Var]:
    """The variables in the extents of a buffer."""
    return list(dict.fromkeys(v for e in (*buffer.shape, *buffer.strides, buffer.elem_offset) for v in free_vars(e)))


def largest_extent(dtype: DType) -> int:
    """The most that an extent of this type may be."""
    return min(LARGEST.get(dtype.bits, LARGEST[32]), dtype.max_value)


def _variables(expr: Expr) -> Iterator[Var]:
    return (n for n in walk(expr) if isinstance(n, Var))


def _bare_extents(buffers: tuple[Buffer, ...]) -> frozenset[Var]:
    return frozenset(e for b in buffers for e in b.shape if isinstance(e, Var))


def _parameter(func: PrimFunc, param: Var, extents: frozenset[Var]) -> Parameter:
    buffer = func.buffer_of(param)
    if buffer is not None:
        if not (buffer.dtype.is_int or buffer.dtype.is_float or buffer.dtype.is_bool):
            raise CodegenError(f"parameter {buffer.name} holds {buffer.dtype}; arrays hold numbers or bools")
        for e in (*buffer.shape, *buffer.strides, buffer.elem_offset):
            if any(isinstance(n, Load) for n in walk(e)):
                raise CodegenError(
                    f"an extent of parameter {buffer.name} reads memory: {script(e)}; pass it as a scalar"
                )
        written = _body(func).written
        return ArrayParameter(buffer, buffer.data in written or EVERYTHING in written, buffer.dtype.scalar.nbytes)
    if isinstance(param.type, PointerType) or not (param.dtype.is_int or param.dtype.is_float or param.dtype.is_bool):
        raise CodegenError(f"parameter {param.name} is a pointer without a buffer; declare one with T.match_buffer")
    if param.dtype.lanes != 1:
        raise CodegenError(f"parameter {param.name} is a vector ({param.dtype}); pass an array or scalars")
    return ScalarParameter(param, _bounds(param, extents))


def _bounds(var: Var, extents: frozenset[Var]) -> tuple[int, int]:
    return (0, largest_extent(var.dtype)) if var in extents else (var.dtype.min_value, var.dtype.max_value)


def _refuse_one_name_twice(func: PrimFunc, parameters: tuple[Parameter, ...]) -> None:
    names = [p.name for p in parameters]
    twice = next((n for k, n in enumerate(names) if n in names[:k]), None)
    if twice is not None:
        raise CodegenError(f"two parameters of {func.name} are called {twice}; give them different names")


def _binding(func: PrimFunc, parameters: tuple[Parameter, ...], symbol: Var, extents: frozenset[Var]) -> Binding:
    """Where a symbol's value comes from: the first extent, else the first stride, else the offset that it is."""
    if not symbol.dtype.is_int or symbol.dtype.lanes != 1:
        raise CodegenError(f"shape symbol {symbol.name} has type {symbol.dtype}; it must be a scalar integer")
    arrays = [(k, p.buffer) for k, p in enumerate(parameters) if isinstance(p, ArrayParameter)]
    bounds = _bounds(symbol, extents)
    for k, b in arrays:
        for axis, e in enumerate(b.shape):
            if e is symbol:
                return Binding(symbol, bounds, k, axis)
    for k, b in arrays:
        for axis, e in enumerate(b.strides):
            if e is symbol:
                return Binding(symbol, bounds, k, axis, True)
    if any(b.elem_offset is symbol for _, b in arrays):
        return Binding(symbol, bounds, None)
    places = ((b, e) for _, b in arrays for e in (*b.shape, *b.strides, b.elem_offset))
    where, expr = next((b, e) for b, e in places if symbol in _variables(e))
    raise CodegenError(
        f"{symbol.name} occurs in {script(expr)} of {where.name} and is itself the extent of no array, so a call would "
        f"not say what it is; make it a parameter of {func.name}: {symbol.name}: T.{symbol.dtype}"
    )


# -- what the body says -----------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True)
class _Body:
    """The blocks that a function writes; ``floats`` and ``release`` as in :class:`EntryPlan`."""

    written: frozenset[Var]
    floats: bool
    release: int | None


_BODIES: WeakKeyDictionary[PrimFunc, _Body] = WeakKeyDictionary()


def _body(func: PrimFunc) -> _Body:
    """Computed once for each function: a body may be large, and loading its cached code must not take long."""
    found = _BODIES.get(func)
    if found is None:
        floats = any(isinstance(t, DType) and t.is_float for n in walk(func) for t in _types(n))
        found = _BODIES[func] = _Body(frozenset(written_blocks(func.body)), floats, release_above(func))
    return found


def _types(node: Node) -> tuple[object, object]:
    return getattr(node, "type", None), getattr(node, "dtype", None)
