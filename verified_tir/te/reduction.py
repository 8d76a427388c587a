"""Reductions over axes: ``te.sum(A[i, k], axis=k)`` and reducers of one's own.

A reduction is not an expression: it stands alone at the top of a ``compute``, as in TVM.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, final
from weakref import WeakKeyDictionary

from verified_tir.ir.dtype import BOOL, INT32, DType
from verified_tir.ir.expr import Binary, Expr, Var
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.ir.sugar import ExprLike, as_expr, const
from verified_tir.te.errors import TEError
from verified_tir.te.numbers import as_in_tvm

_domains: WeakKeyDictionary[Var, tuple[Expr, Expr]] = WeakKeyDictionary()


def reduce_axis(dom: Sequence[ExprLike], name: str = "rv") -> Var:
    """An axis to reduce over: the integers from ``dom[0]`` to below ``dom[1]``.

    :raises TEError: if ``dom`` is not a pair of integers.
    """
    if len(dom) != 2:
        raise TEError(f"reduce_axis({name!r}) takes the pair (first, end), not {len(dom)} numbers")
    low, end = (as_expr(e) for e in dom)
    if not (low.dtype.is_int and end.dtype.is_int):
        raise TEError(f"reduce_axis({name!r}) runs over integers, not from {low.dtype} to {end.dtype}")
    axis = Var.fresh(name, INT32)
    _domains[axis] = (low, end - low)
    return axis


def domain(axis: Var) -> tuple[Expr, Expr]:
    """First value and extent of a reduction axis.

    :raises TEError: if it is none.
    """
    found = _domains.get(axis)
    if found is None:
        raise TEError(f"{axis.name} is not a reduction axis; te.reduce_axis((0, n)) makes one")
    return found


@final
@dataclass(frozen=True, slots=True)
class CommReducer:
    """How two values become one, and the value that changes nothing; for several values at a time, tuples of these.

    ``combine`` gets the values so far and the next ones; ``identity`` gets the types of the values.
    """

    combine: Callable[..., Any]
    identity: Callable[..., Any]
    name: str = "reduce"

    def __call__(self, expr: Any, axis: Var | Sequence[Var], where: Expr | None = None, init: Any = None) -> Reduce:
        """The reduction of ``expr`` over the axes, of those iterations in which ``where`` holds.

        :param init: what to begin with instead of the identity.
        """
        axes = (axis,) if isinstance(axis, Var) else tuple(axis)
        if not axes:
            raise TEError(f"{self.name} needs an axis to reduce over")
        for a in axes:
            domain(a)
        values = tuple(as_expr(e) for e in (expr if isinstance(expr, (tuple, list)) else (expr,)))
        given = None if init is None else tuple(init if isinstance(init, (tuple, list)) else (init,))
        if given is not None and len(given) != len(values):
            raise TEError(f"{self.name} begins with {len(given)} values and reduces {len(values)}")
        begin = None if given is None else tuple(as_expr(g, v.dtype) for g, v in zip(given, values, strict=True))
        return Reduce(self, values, axes, None if where is None else as_expr(where, BOOL), begin)


@final
@dataclass(frozen=True, slots=True)
class Reduce:
    """A reduction in the making; only ``compute`` understands it."""

    reducer: CommReducer
    values: tuple[Expr, ...]
    axes: tuple[Var, ...]
    where: Expr | None
    init: tuple[Expr, ...] | None

    def first(self) -> tuple[Expr, ...]:
        """The values to begin with."""
        if self.init is not None:
            return self.init
        return self._exprs(self.reducer.identity(*(str(v.dtype) for v in self.values)))

    def next(self, so_far: Sequence[Expr]) -> tuple[Expr, ...]:
        """The values after one more iteration."""
        alone = len(self.values) == 1
        before, after = (so_far[0], self.values[0]) if alone else (tuple(so_far), self.values)
        with as_in_tvm():
            exprs = self._exprs(self.reducer.combine(before, after))
        for e, v in zip(exprs, self.values, strict=True):
            if e.dtype is not v.dtype:
                raise TEError(f"{self.reducer.name} makes {e.dtype} of {v.dtype}; a reducer keeps the type")
        return exprs

    def _exprs(self, made: Any) -> tuple[Expr, ...]:
        """What a function of the reducer gives: an expression for each value."""
        found = made if isinstance(made, (tuple, list)) else (made,)
        if len(found) != len(self.values):
            raise TEError(f"{self.reducer.name} gives {len(found)} values for {len(self.values)}")
        return tuple(as_expr(e, v.dtype) for e, v in zip(found, self.values, strict=True))

    def _alone(self, *_: object) -> NoReturn:
        raise TEError(
            "a reduction stands alone at the top of a compute; give it a tensor of its own and use that in the next one"
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _alone
    __lt__ = __le__ = __gt__ = __ge__ = __neg__ = __int__ = __float__ = __floordiv__ = __mod__ = _alone


def comm_reducer(fcombine: Callable[..., Any], fidentity: Callable[..., Any], name: str = "reduce") -> CommReducer:
    """A reducer from a function of two values and one that gives the identity for a type (by its name).

    With tuples of values: ``fcombine((a0, a1), (b0, b1))``, ``fidentity(t0, t1)``.

    :raises TEError: if ``fcombine`` does not take two arguments.
    """
    if len(inspect.signature(fcombine).parameters) != 2:
        raise TEError(f"the function that combines for {name} takes two arguments")
    return CommReducer(fcombine, fidentity, name)


def _greatest(t: DType) -> float:
    from ml_dtypes import finfo

    return float(finfo(numpy_dtype(t)).max)  # type: ignore[no-untyped-call]


def least_value(dtype: str | DType) -> Expr:
    """The least value of a type, minus infinity for floats."""
    t = DType.parse(dtype)
    return const(float("-inf"), t) if t.is_float else const(t.min_value, t)


def greatest_value(dtype: str | DType) -> Expr:
    """The greatest value of a type, infinity for floats."""
    t = DType.parse(dtype)
    return const(float("inf"), t) if t.is_float else const(t.max_value, t)


def min_value(dtype: str | DType) -> Expr:
    """The least *finite* value of a type (TVM's ``te.min_value``)."""
    t = DType.parse(dtype)
    return const(-_greatest(t), t) if t.is_float else const(t.min_value, t)


def max_value(dtype: str | DType) -> Expr:
    """The greatest *finite* value of a type (TVM's ``te.max_value``)."""
    t = DType.parse(dtype)
    return const(_greatest(t), t) if t.is_float else const(t.max_value, t)


sum = CommReducer(lambda x, y: x + y, lambda t: const(0, t), "sum")
"""Sums, from 0."""
prod = CommReducer(lambda x, y: x * y, lambda t: const(1, t), "prod")
"""Products, from 1."""
max = CommReducer(lambda x, y: Binary("max", x, y), min_value, "max")
"""Greatest values, from the least finite value of the type, as in TVM."""
min = CommReducer(lambda x, y: Binary("min", x, y), max_value, "min")
"""Least values, from the greatest finite value of the type, as in TVM."""
