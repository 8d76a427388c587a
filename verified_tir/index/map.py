"""Index maps: how the elements of a logical box are laid out in a physical one.

An :class:`IndexMap` is a function of index variables given by expressions, as written for ``transform_layout``::

    IndexMap.from_func(lambda i, j: [i, j // 4, j % 4], 2)

All that can be asked of it is asked *on a shape*: whether it is injective there and what undoes it, how large the
physical box is, which of its points are padding.  Extents may be numbers or expressions in shape symbols; a symbol
stands for any value for which the extents are not negative.  Nothing here is trusted: the kernel proves injectivity
and padding again, with these answers as witnesses.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, Final, TypeAlias, final

import numpy as np
import numpy.typing as npt

from verified_tir.index.bits import without_bit_operations
from verified_tir.index.box import holds
from verified_tir.index.errors import (
    IndexMapError,
    NegativeIndex,
    NotInjective,
    NotInvertible,
    UnknownBounds,
)
from verified_tir.index.evaluate import Grid, evaluate, open_grid
from verified_tir.index.on_box import MapOnBox, on_box
from verified_tir.index.simplify import simplify
from verified_tir.index.text import index_text
from verified_tir.ir.dtype import HANDLE, INT32, INT64, DType, PointerType
from verified_tir.ir.expr import Expr, IntImm, Var
from verified_tir.ir.node import IRError, Node
from verified_tir.ir.poly import counted_in
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import free_vars, rewrite, substitute
from verified_tir.logic.verdict import Proved

__all__ = [
    "AXIS_SEPARATOR", "AxisSeparator", "IndexMap", "IndexMapError", "NegativeIndex", "NotInjective", "NotInvertible",
    "UnknownBounds", "preimage",
]  # fmt: skip

Array: TypeAlias = npt.NDArray[Any]
LARGE: Final = 2**14
"""Elements of an array whose places are worth keeping."""
PadValue: TypeAlias = "int | float | bool | np.generic | Callable[..., Any] | None"


@final
class AxisSeparator:
    """Stands between outputs of a map where flattening stops (RFC 39); there is one, :data:`AXIS_SEPARATOR`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "AXIS_SEPARATOR"


AXIS_SEPARATOR: Final = AxisSeparator()


@final
@dataclass(frozen=True, slots=True)
class IndexMap:
    """``inputs ↦ outputs``; ``separators`` are positions in the list of outputs before which a separator stood.

    :raises IndexMapError: if inputs repeat, types are mixed or no index types, or separators do not ascend.
    """

    inputs: tuple[Var, ...]
    outputs: tuple[Expr, ...]
    separators: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if len(set(self.inputs)) != len(self.inputs):
            raise IndexMapError("the input variables of an index map must differ")
        types = {e.dtype for e in (*self.inputs, *self.outputs)}
        if not types <= {INT32, INT64} or len(types) > 1:
            names = ", ".join(sorted(map(str, types)))
            raise IndexMapError(f"an index map works in int32 or in int64 throughout, not in {names}")
        if list(self.separators) != sorted(self.separators) or any(
            not 0 <= s <= len(self.outputs) for s in self.separators
        ):
            raise IndexMapError(f"axis separators {self.separators} must ascend within {len(self.outputs)} outputs")

    # ------------------------------------------------------------------ building

    @staticmethod
    def from_func(func: Callable[..., Any], rank: int, dtype: DType | str = "int32") -> IndexMap:
        """The map that ``func`` computes from ``rank`` index variables, which take the names of its parameters.

        ``func`` may take named indices, ``*indices`` (named ``i0, i1, …``) or both, and returns an index or a list or
        tuple of indices, Python integers and :data:`AXIS_SEPARATOR`.

        :raises IndexMapError: if the parameters do not fit the rank or a result is not an integer.
        """
        dtype = DType.parse(dtype)
        inputs = tuple(Var.fresh(name, dtype) for name in parameter_names(func, rank))
        result = func(*inputs)
        outputs: list[Expr] = []
        separators: list[int] = []
        for item in result if isinstance(result, (list, tuple)) else [result]:
            if isinstance(item, AxisSeparator):
                separators.append(len(outputs))
            else:
                outputs.append(_index(item, dtype, len(outputs)))
        return IndexMap(inputs, tuple(outputs), tuple(separators))

    @staticmethod
    def identity(rank: int, dtype: DType | str = "int32") -> IndexMap:
        """The map that changes nothing."""
        return IndexMap.from_func(lambda *indices: list(indices), rank, dtype)

    @property
    def dtype(self) -> DType:
        """The index type."""
        return next((e.dtype for e in (*self.inputs, *self.outputs)), INT32)

    def counted_in(self, dtype: DType) -> IndexMap:
        """The same map of indices of another type, which its numbers take, too.

        :raises IndexMapError: if an output mentions a symbol, which keeps its type.
        """
        if self.dtype is dtype:
            return self
        new = {v: Var.fresh(v.name, dtype) for v in self.inputs}

        def retyped(node: Node) -> Node | None:
            if isinstance(node, IntImm) and node.dtype is self.dtype:
                return const(node.value, dtype)
            return new.get(node) if isinstance(node, Var) else None

        try:
            outputs = tuple([rewrite(e, retyped) for e in self.outputs])
        except IRError as problem:
            raise IndexMapError(f"the map {self} counts in {self.dtype}, not in {dtype}: {problem}") from None
        return IndexMap(tuple(new.values()), outputs, self.separators)

    # ------------------------------------------------------------------ using

    def apply(self, indices: Sequence[Expr]) -> tuple[Expr, ...]:
        """The outputs at the given indices.

        :raises IndexMapError: if there are more or fewer indices than inputs.
        """
        if len(indices) != len(self.inputs):
            raise IndexMapError(f"a map of {len(self.inputs)} indices is applied to {len(indices)}")
        at = dict(zip(self.inputs, indices, strict=True))
        return tuple(substitute(e, at) for e in self.outputs)

    def compose(self, other: IndexMap) -> IndexMap:
        """``self`` after ``other``; the separators are those of ``self``.

        :raises IndexMapError: if ``other`` has not as many outputs as ``self`` has inputs.
        """
        return IndexMap(other.inputs, self.apply(other.outputs), self.separators)

    def on(self, shape: Sequence[Expr | int]) -> MapOnBox:
        """The map on a box, where its extents, inverse and padding are computed.

        :raises IndexMapError: if the shape has the wrong rank or an extent the wrong type, or an output is loaded.
        """
        if any(v.type is HANDLE or isinstance(v.type, PointerType) for e in self.outputs for v in free_vars(e)):
            raise IndexMapError("an output is loaded from memory, and no function of the indices")
        if len(shape) != len(self.inputs):
            raise IndexMapError(f"a map of {len(self.inputs)} indices meets a shape of {len(shape)} dimensions")
        extents = tuple(_extent(e, v.dtype) for e, v in zip(shape, self.inputs, strict=True))
        ranges = {v: (const(0, v.dtype), e) for v, e in zip(self.inputs, extents, strict=True)}
        return on_box(self.inputs, without_bit_operations(self.outputs, ranges), extents)

    def padded_shape(self, shape: Sequence[Expr | int]) -> tuple[Expr, ...]:
        """The extents of the box ``[0, max+1)`` that holds every output for inputs in ``shape``.

        Exactly minimal when constant; in shape symbols an upper bound in simple form (``i % 4`` takes 4 places even
        where ``n`` may be 1).

        :raises NegativeIndex: if an output is negative somewhere.
        :raises UnknownBounds: if no bound is found.
        """
        return self.on(shape).padded

    def inverse(self, shape: Sequence[Expr | int]) -> IndexMap:
        """The map from each output that some input in ``shape`` has to that input; anything elsewhere.

        Divides by nothing but positive constants and extents.

        :raises NotInjective: with two inputs that have one output.
        :raises NotInvertible: if neither an inverse nor such a pair is found.
        """
        box = self.on(shape)
        return IndexMap(box.hit_vars, box.inverse)

    def padding_predicate(self, shape: Sequence[Expr | int], simplified: bool = True) -> tuple[tuple[Var, ...], Expr]:
        """Variables for the outputs, and the condition that a point of the padded box is not output.

        ``FALSE`` where there is no padding.  Without ``simplified``, the condition that the inverse leads out of the
        box or not back, as it stands.

        :raises NotInvertible: if the holes of the map are not understood.
        """
        box = self.on(shape)
        return box.hit_vars, box.padding(simplified)

    def is_identity(self, shape: Sequence[Expr | int]) -> bool:
        """Whether every point of the shape is mapped to itself; False also if that is not known."""
        if len(self.outputs) != len(self.inputs):
            return False
        box = self.on(shape).box
        pairs = [(e, v) for e, v in zip(self.outputs, self.inputs, strict=True) if e is not v]
        return all(isinstance(holds(box, e.equal(v)), Proved) for e, v in pairs)

    def simplified(self, shape: Sequence[Expr | int]) -> IndexMap:
        """The map, its outputs simplified on a shape; inputs are called ``i0, i1, …``."""
        names = IndexMap.identity(len(self.inputs), self.dtype).inputs
        box = {v: (const(0, v.dtype), _extent(e, v.dtype)) for v, e in zip(names, shape, strict=True)}
        return IndexMap(names, tuple(simplify(e, box) for e in self.apply(names)))

    # ------------------------------------------------------------------ arrays

    def pack(self, array: Array, pad_value: PadValue = None) -> Array:
        """The array in its physical layout, of shape ``padded_shape(array.shape)``.

        Padding holds ``pad_value``: zeros (None), a scalar, or a function that gets one numpy array of output indices
        for each dimension and returns the values there.

        :raises NotInjective: if two elements would share a place.
        """
        array = np.asarray(array)
        shape = self.constant_shape(array.shape)
        place = _places(self, array.shape, shape)
        if not _apart(self, array.shape, shape):
            self.inverse(array.shape)  # raises with two such elements
            raise NotInvertible("two elements share a place")
        flat = np.zeros(prod(shape), dtype=array.dtype)
        if callable(pad_value):
            taken = np.zeros(flat.shape, dtype=np.bool_)
            taken[place] = True
            free = np.flatnonzero(~taken)
            flat[free] = pad_value(*np.unravel_index(free, shape)) if free.size else 0
        elif pad_value is not None:
            flat[...] = pad_value
        flat[place] = array.reshape(-1)
        return flat.reshape(shape)

    def unpack(self, array: Array, shape: Sequence[int]) -> Array:
        """The logical array of the given shape from its physical layout.

        :raises IndexMapError: if the physical array has not the shape that the map gives.
        """
        array, physical = np.asarray(array), self.constant_shape(shape)
        if tuple(array.shape) != physical:
            raise IndexMapError(f"the layout of {tuple(shape)} has shape {physical}, not {tuple(array.shape)}")
        return np.ascontiguousarray(array).reshape(-1)[_places(self, tuple(shape), physical)].reshape(tuple(shape))

    def constant_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The padded shape of a constant one, as numbers."""
        return tuple(e.value for e in self.padded_shape(shape) if isinstance(e, IntImm))

    # ------------------------------------------------------------------ text

    def __str__(self) -> str:
        items = [index_text(e) for e in self.outputs]
        for position in reversed(self.separators):
            items.insert(position, repr(AXIS_SEPARATOR))
        names = ", ".join(v.name for v in self.inputs)
        return f"lambda {names}: [{', '.join(items)}]" if names else f"lambda: [{', '.join(items)}]"


def preimage(loops: Sequence[tuple[Var, Expr, Expr]], equations: Sequence[tuple[Expr, Expr]]) -> dict[Var, Expr]:
    """The variables, each given with its least value and its extent, for which expressions over them have given values.

    :raises IndexMapError: if they are not found, or not determined.
    """
    zero = {v: Var.fresh(v.name, v.dtype) for v, _, _ in loops}
    shift: dict[Var, Expr] = {v: zero[v] if _is_zero(low) else zero[v] + low for v, low, _ in loops}
    outputs = tuple(substitute(e, shift) for e, _ in equations)
    box = IndexMap(tuple(zero.values()), outputs).on([extent for _, _, extent in loops])
    at = {v: counted_in(x, v.dtype) for v, (_, x) in zip(box.hit_vars, equations, strict=True)}
    values = [substitute(g, at) for g in box.inverse]
    return {v: e if _is_zero(low) else e + low for (v, low, _), e in zip(loops, values, strict=True)}


def _is_zero(e: Expr) -> bool:
    return isinstance(e, IntImm) and e.value == 0


def _places(index_map: IndexMap, shape: tuple[int, ...], physical: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """The flat physical position of each logical element, in row-major order.

    The last few of large arrays are kept: many weights of a model have one shape, and each is packed and compared.
    """
    return (_large_places if prod(shape) >= LARGE else _computed_places)(index_map, shape, physical)


def _computed_places(index_map: IndexMap, shape: tuple[int, ...], physical: tuple[int, ...]) -> npt.NDArray[np.int64]:
    total: Grid = np.zeros((1,) * len(shape), dtype=np.int64)
    stride = 1
    values = evaluate(index_map.outputs, dict(zip(index_map.inputs, open_grid(shape), strict=True)))
    for value, extent in zip(reversed(values), reversed(physical), strict=True):
        total = total + value * stride
        stride *= extent
    return np.broadcast_to(total, shape).reshape(-1)


_large_places = lru_cache(maxsize=4)(_computed_places)


@lru_cache(maxsize=4)
def _apart(index_map: IndexMap, shape: tuple[int, ...], physical: tuple[int, ...]) -> bool:
    """Whether no two elements share a place."""
    taken = np.zeros(prod(physical), dtype=np.bool_)
    taken[_places(index_map, shape, physical)] = True
    return int(np.count_nonzero(taken)) == prod(shape)


def parameter_names(func: Callable[..., Any], rank: int) -> list[str]:
    """Names for ``rank`` indices, from the function's parameters; ``*indices`` takes as many as are left.

    A parameter with a default is an index only if there are so many (``lambda i, k=k: ...`` keeps a value of a loop).

    :raises IndexMapError: if the function takes another number of them, or one that cannot be given by position.
    """
    names: list[str] = []
    rest = False
    for name, parameter in inspect.signature(func).parameters.items():
        given = parameter.default is not parameter.empty
        match parameter.kind:
            case inspect.Parameter.POSITIONAL_ONLY | inspect.Parameter.POSITIONAL_OR_KEYWORD:
                if not given or len(names) < rank:
                    names.append(name)
            case inspect.Parameter.VAR_POSITIONAL:
                rest = True
            case inspect.Parameter.KEYWORD_ONLY if not given:
                raise IndexMapError(f"indices are given by position; {name} is keyword-only")
            case _:
                pass
    if len(names) > rank or (len(names) < rank and not rest):
        takes = f"at least {len(names)}" if rest else f"{len(names)}"
        raise IndexMapError(f"the function takes {takes} indices ({', '.join(names)}), but there are {rank}")
    taken = set(names)
    for k in range(len(names), rank):
        name = f"i{k}"
        while name in taken:
            name += "_"
        taken.add(name)
        names.append(name)
    return names


def _index(item: object, dtype: DType, position: int) -> Expr:
    """One result of a map's function as an expression of the index type."""
    return _of_type(item, dtype, f"result {position} of an index map must be an index of type {dtype}")


def _extent(extent: Expr | int, dtype: DType) -> Expr:
    return _of_type(extent, dtype, f"an extent of a map in {dtype} is an index of that type")


def _of_type(item: object, dtype: DType, wanted: str) -> Expr:
    """A number or an expression as one of the index type.

    :param wanted: what the error says of it.
    :raises IndexMapError: for another type.
    """
    if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
        return const(int(item), dtype)
    if isinstance(item, IntImm) and item.dtype.is_int:
        return const(item.value, dtype)
    if isinstance(item, Expr) and item.dtype is dtype:
        return item
    what = f"an expression of type {item.dtype}" if isinstance(item, Expr) else f"{item!r}"
    raise IndexMapError(f"{wanted}, not {what}")
