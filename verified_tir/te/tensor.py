"""Tensors and what computes them: ``placeholder`` and ``compute`` (TVM's tensor expressions).

A tensor is the result of an operation.  Its elements are expressions (``A[i, j]`` is a load of the tensor's buffer), so
everything of ``T`` works on them.  Nothing is computed here: ``create_prim_func`` writes the loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, final, overload
from weakref import WeakValueDictionary

from verified_tir.index.map import IndexMapError, parameter_names
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import INT32, DType
from verified_tir.ir.expr import Expr, Load, Var
from verified_tir.ir.node import IRError
from verified_tir.ir.sugar import ExprLike, as_expr
from verified_tir.ir.visit import walk
from verified_tir.te.errors import TEError
from verified_tir.te.numbers import as_in_tvm
from verified_tir.te.reduction import Reduce

ShapeLike: TypeAlias = "Sequence[ExprLike] | ExprLike"


@final
@dataclass(frozen=True, slots=True, eq=False)
class PlaceholderOp:
    """An input."""

    name: str

    @property
    def axis(self) -> list[Var]:
        """An input has no loops."""
        return []

    reduce_axis = axis


@final
@dataclass(frozen=True, slots=True, eq=False)
class ComputeOp:
    """Elements given by expressions of the axes; ``reduce`` if they are reductions."""

    name: str
    spatial: tuple[Var, ...]
    shape: tuple[Expr, ...]
    values: tuple[Expr, ...]
    reduce: Reduce | None
    buffers: tuple[Buffer, ...]
    inputs: tuple[Tensor, ...]

    @property
    def axis(self) -> list[Var]:
        """The axes of the result, outermost first."""
        return list(self.spatial)

    @property
    def reduce_axis(self) -> list[Var]:
        """The axes that are reduced over."""
        return [] if self.reduce is None else list(self.reduce.axes)

    @property
    def num_outputs(self) -> int:
        return len(self.buffers)

    def output(self, index: int) -> Tensor:
        """One of the tensors that this operation computes."""
        return Tensor(self, index, self.buffers[index])


Operation: TypeAlias = PlaceholderOp | ComputeOp

_owners: WeakValueDictionary[Var, Tensor] = WeakValueDictionary()
"""The tensor of each buffer, while somebody holds it; an operation holds those that it reads."""


@final
class Tensor:
    """The result of an operation; ``T[i, j]`` is its element there.

    :ivar shape: its extents, as expressions.
    """

    __slots__ = ("__weakref__", "buffer", "op", "value_index")

    def __init__(self, op: Operation, value_index: int, buffer: Buffer) -> None:
        self.op = op
        self.value_index = value_index
        self.buffer = buffer

    @property
    def name(self) -> str:
        return self.buffer.name

    @property
    def dtype(self) -> str:
        return str(self.buffer.dtype)

    @property
    def shape(self) -> tuple[Expr, ...]:
        return self.buffer.shape

    @property
    def ndim(self) -> int:
        return len(self.buffer.shape)

    @overload
    def __getitem__(self, indices: tuple[ExprLike, ...]) -> Expr: ...
    @overload
    def __getitem__(self, indices: ExprLike) -> Any: ...
    def __getitem__(self, indices: ExprLike | tuple[ExprLike, ...]) -> Any:
        """The element at these indices; with fewer than there are dimensions, what takes the others: ``A[i][j]``."""
        return _Slice(self, ())[indices]

    def __call__(self, *indices: ExprLike) -> Expr:
        """``T(i, j)`` is ``T[i, j]``, as in TVM."""
        return self[indices]

    __iter__ = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tensor) and other.buffer is self.buffer

    def __hash__(self) -> int:
        return hash(self.buffer)

    def __repr__(self) -> str:
        from verified_tir.ir.script import script

        return f"Tensor({self.name}, ({', '.join(script(e) for e in self.shape)}), {self.dtype})"


@final
@dataclass(frozen=True, slots=True)
class _Slice:
    """A tensor with the first indices given."""

    tensor: Tensor
    indices: tuple[Expr, ...]

    def __getitem__(self, more: ExprLike | tuple[ExprLike, ...]) -> Any:
        rank = self.tensor.ndim
        given = more if isinstance(more, tuple) else (more,)
        try:
            indices = (*self.indices, *(as_expr(i, INT32) for i in given))
        except (IRError, TypeError, ValueError) as problem:
            raise TEError(f"{self.tensor.name} is indexed by integers, not by {given!r}: {problem}") from None
        if len(indices) > rank:
            raise TEError(f"{self.tensor.name} has {rank} dimensions and is given {len(indices)} indices")
        if len(indices) < rank:
            return _Slice(self.tensor, indices)
        return Load(self.tensor.buffer, indices)

    def __iter__(self) -> Iterator[Any]:
        raise TEError(f"{self.tensor.name} has {self.tensor.ndim} dimensions and is given {len(self.indices)} indices")


def var(name: str = "n", dtype: str = "int32") -> Var:
    """A number that the arguments decide: an extent, or a scalar parameter."""
    return Var.fresh(name, DType.parse(dtype))


def size_var(name: str = "n", dtype: str = "int32") -> Var:
    """An extent that the arguments decide (not negative, as every extent)."""
    return Var.fresh(name, DType.parse(dtype))


def placeholder(shape: ShapeLike, dtype: str | DType | None = None, name: str = "placeholder") -> Tensor:
    """An input of the given shape; float32 unless said."""
    return placed(PlaceholderOp(name), 0, Buffer.declare(name, _extents(shape, name), dtype or "float32"))


@overload
def compute(
    shape: ShapeLike, fcompute: Callable[..., Expr | Reduce], name: str = "compute", tag: str = ""
) -> Tensor: ...
@overload
def compute(
    shape: ShapeLike, fcompute: Callable[..., tuple[Any, ...] | list[Any]], name: str = "compute", tag: str = ""
) -> tuple[Tensor, ...]: ...
def compute(shape: ShapeLike, fcompute: Callable[..., Any], name: str = "compute", tag: str = "") -> Any:
    """The tensor whose element at the indices is what ``fcompute`` gives for them.

    ``fcompute`` takes named indices or ``*indices`` (RFC 39) and gives an expression or a reduction; several values, in
    a tuple or from a reduction of tuples, make a tuple of tensors.

    :raises TEError: if ``fcompute`` takes another number of indices than there are extents, or gives anything else.
    """
    del tag
    extents = _extents(shape, name)
    axes = tuple(Var.fresh(n, INT32) for n in _parameters(fcompute, len(extents), name))
    with as_in_tvm():
        made = fcompute(*axes)
    parts = tuple(made) if isinstance(made, (tuple, list)) else (made,)
    reduce = parts[0] if len(parts) == 1 and isinstance(parts[0], Reduce) else None
    values: tuple[Expr, ...] = ()
    if reduce is not None:
        _check_axes(reduce, axes, name)
    else:
        values = tuple(_value(e, name) for e in parts)
    types = [v.dtype for v in (values if reduce is None else reduce.values)]
    names = [name] if len(types) == 1 else [f"{name}_v{k}" for k in range(len(types))]
    buffers = tuple(Buffer.declare(n, extents, t) for n, t in zip(names, types, strict=True))
    op = ComputeOp(name, axes, extents, values, reduce, buffers, _inputs(values, reduce))
    tensors = tuple(placed(op, k, b) for k, b in enumerate(buffers))
    return tensors if len(tensors) > 1 else tensors[0]


def _inputs(values: Sequence[Expr], reduce: Reduce | None) -> tuple[Tensor, ...]:
    """The tensors whose elements are used, in the order of their first use."""
    exprs = list(values)
    if reduce is not None:
        exprs += [*reduce.values, *reduce.first()]
        exprs += [] if reduce.where is None else [reduce.where]
    read = dict.fromkeys(n.buffer for e in exprs for n in walk(e) if isinstance(n, Load))
    return tuple(tensor_of(b) for b in read)


def tensor_of(buffer: Buffer) -> Tensor:
    """The tensor whose element was read.

    :raises TEError: if the buffer belongs to none.
    """
    found = _owners.get(buffer.data)
    if found is None:
        raise TEError(f"{buffer.name} is not a tensor; a compute reads placeholders and results of other computes")
    return found


def placed(op: Operation, index: int, buffer: Buffer) -> Tensor:
    tensor = Tensor(op, index, buffer)
    _owners[buffer.data] = tensor
    return tensor


def _value(e: Any, name: str) -> Expr:
    if isinstance(e, Reduce):
        raise TEError(f"{name}: a reduction of several values reduces tuples; it does not stand in a tuple")
    if isinstance(e, (Expr, int, float, bool)):
        return as_expr(e)
    raise TEError(f"{name}: an element is an expression or a reduction, not {type(e).__name__}")


def _check_axes(reduce: Reduce, axes: tuple[Var, ...], name: str) -> None:
    if any(a in axes for a in reduce.axes):
        raise TEError(f"{name} reduces over an axis of its own result")
    if len(set(reduce.axes)) != len(reduce.axes):
        raise TEError(f"{name} reduces over one axis twice")


def _extents(shape: Any, name: str) -> tuple[Expr, ...]:
    dims = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    try:
        return tuple(as_expr(e, INT32) for e in dims)
    except (IRError, TypeError, ValueError):
        raise TEError(f"the shape of {name} is integers and variables, not {shape!r}") from None


def _parameters(function: Callable[..., Any], rank: int, name: str) -> list[str]:
    """The names of the indices."""
    try:
        return parameter_names(function, rank)
    except IndexMapError as problem:
        raise TEError(f"{name} has {rank} dimensions: {problem}") from None
