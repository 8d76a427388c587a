"""The namespace ``T``: the decorator ``T.prim_func``, and constructors of expressions for lambdas and tests.

Inside a decorated function ``T`` is read as text and knows far more names (``T.grid``, ``T.sblock``, …); they have no
meaning outside one.  The names here also serve Python itself, which evaluates the annotations of parameters.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final, overload

from verified_tir.ir.buffer import Buffer as IRBuffer
from verified_tir.ir.calls import PURE_CALLS
from verified_tir.ir.dtype import BOOL, HANDLE, DType
from verified_tir.ir.expr import Binary, BinaryOp, Expr, IfThenElse, Undef, Var
from verified_tir.ir.expr import Broadcast as _Broadcast
from verified_tir.ir.expr import Call as _Call
from verified_tir.ir.expr import Not as _Not
from verified_tir.ir.expr import Ramp as _Ramp
from verified_tir.ir.expr import Select as _Select
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.script.dtypes import dtype_named, is_dtype_name
from verified_tir.ir.script.python import from_python
from verified_tir.ir.script.values import converted as _convert
from verified_tir.ir.script.values import unified
from verified_tir.ir.sugar import MATCHED, ExprLike, all_of, any_of, as_expr, const

__all__ = [
    "And", "Broadcast", "Buffer", "Cast", "Not", "Or", "Ramp", "Select", "cast", "ceildiv", "floordiv", "floormod",
    "handle", "if_then_else", "max", "min", "prim_func", "reinterpret", "truncdiv", "truncmod", "undef",
]  # fmt: skip


@overload
def prim_func(func: Callable[..., object], /) -> PrimFunc: ...
@overload
def prim_func(
    *, private: bool = ..., check_well_formed: bool = ..., s_tir: bool = ...
) -> Callable[[Callable[..., object]], PrimFunc]: ...
def prim_func(
    func: Callable[..., object] | None = None,
    /,
    *,
    private: bool = False,
    check_well_formed: bool = True,
    s_tir: bool = True,
) -> PrimFunc | Callable[[Callable[..., object]], PrimFunc]:
    """Read the decorated function as a program; its body is never run.

    The options are those of TVM and change nothing here.

    :raises ScriptError: for a mistake in the program.
    """
    if func is None:
        return lambda f: from_python(f, sys.modules[__name__])
    return from_python(func, sys.modules[__name__])


# -- types and declarations -------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True)
class _DTypeName:
    """``T.float32``: names a type; called with a value it makes a constant or a conversion, without one a variable."""

    dtype: DType

    def __call__(self, value: ExprLike | str | None = None) -> Expr:
        if value is None:
            return Var.fresh("v", self.dtype)
        if isinstance(value, str):
            value = float(value)
        return _convert(self.dtype, value) if isinstance(value, Expr) else const(value, self.dtype)


@final
class _BufferName:
    """``T.Buffer((16, 14), "float32")`` or, as it was once written, ``T.Buffer[(16, 14), "float32"]``."""

    def __call__(self, shape: Any, dtype: str | DType = "float32", *, name: str = "buffer", **layout: Any) -> Any:
        dims = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
        if all(isinstance(e, (int, Expr)) for e in dims):
            return IRBuffer.declare(name, dims, dtype, **layout)
        # an annotation whose shape has quoted symbols or type variables: only the text is looked at
        return (dims, dtype)

    def __getitem__(self, item: Any) -> Any:
        return self(*item) if isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], str) else self(item)


Buffer = _BufferName()


if TYPE_CHECKING:
    # For a type checker these are types, since programs annotate parameters with them; it knows no more of them.
    class _Annotation(Any):  # type: ignore[misc]
        def __init__(self, *args: Any, **named: Any) -> None: ...

    class handle(_Annotation): ...  # noqa: N801

    class int8(_Annotation): ...  # noqa: N801

    class int16(_Annotation): ...  # noqa: N801

    class int32(_Annotation): ...  # noqa: N801

    class int64(_Annotation): ...  # noqa: N801

    class uint8(_Annotation): ...  # noqa: N801

    class uint16(_Annotation): ...  # noqa: N801

    class uint32(_Annotation): ...  # noqa: N801

    class uint64(_Annotation): ...  # noqa: N801

    class float16(_Annotation): ...  # noqa: N801

    class bfloat16(_Annotation): ...  # noqa: N801

    class float32(_Annotation): ...  # noqa: N801

    class float64(_Annotation): ...  # noqa: N801

    _Pure = Callable[..., Expr]
    abs: _Pure
    atan: _Pure
    atan2: _Pure
    ceil: _Pure
    cos: _Pure
    cosh: _Pure
    erf: _Pure
    exp: _Pure
    exp2: _Pure
    floor: _Pure
    fma: _Pure
    isfinite: _Pure
    isinf: _Pure
    isnan: _Pure
    log: _Pure
    log10: _Pure
    log1p: _Pure
    log2: _Pure
    nearbyint: _Pure
    popcount: _Pure
    pow: _Pure
    round: _Pure
    rsqrt: _Pure
    sigmoid: _Pure
    sin: _Pure
    sinh: _Pure
    sqrt: _Pure
    tan: _Pure
    tanh: _Pure
    trunc: _Pure
else:

    def handle(dtype: str | None = None, storage_scope: str = "global") -> DType:
        """The type of a parameter that ``T.match_buffer`` gives a buffer."""
        return HANDLE


# -- expressions ------------------------------------------------------------------------------------------------------


def undef(dtype: str | DType = "float32") -> Expr:
    """A value that nothing is known about; each evaluation is a fresh one."""
    return Undef(DType.parse(dtype))


def _pair(op: BinaryOp, a: ExprLike, b: ExprLike) -> tuple[Expr, Expr]:
    """Two operands of one type."""
    match = MATCHED.get()
    return unified(a, b, None) if match is None else match(op, a, b)


def _binary(op: BinaryOp, a: ExprLike, b: ExprLike) -> Expr:
    return Binary(op, *_pair(op, a, b))


def min(a: ExprLike, b: ExprLike) -> Expr:
    """``select(a < b, a, b)``."""
    return _binary("min", a, b)


def max(a: ExprLike, b: ExprLike) -> Expr:
    """``select(a > b, a, b)``."""
    return _binary("max", a, b)


def floordiv(a: ExprLike, b: ExprLike) -> Expr:
    """The quotient rounded down, ``a // b``."""
    return _binary("floordiv", a, b)


def floormod(a: ExprLike, b: ExprLike) -> Expr:
    """The remainder of ``floordiv``, with the sign of ``b``."""
    return _binary("floormod", a, b)


def truncdiv(a: ExprLike, b: ExprLike) -> Expr:
    """The quotient rounded towards zero, as in C."""
    return _binary("truncdiv", a, b)


def truncmod(a: ExprLike, b: ExprLike) -> Expr:
    """The remainder of ``truncdiv``, with the sign of ``a``."""
    return _binary("truncmod", a, b)


def ceildiv(a: ExprLike, b: ExprLike) -> Expr:
    """The quotient rounded up: ``(a + b - 1) // b``."""
    x, y = _pair("add", a, b)
    return (x + y - 1) // y


def And(*conditions: ExprLike) -> Expr:  # noqa: N802
    """The lazy conjunction, from left to right."""
    return all_of([as_expr(c, BOOL) for c in conditions])


def Or(*conditions: ExprLike) -> Expr:  # noqa: N802
    """The lazy disjunction, from left to right."""
    return any_of([as_expr(c, BOOL) for c in conditions])


def Not(a: ExprLike) -> Expr:  # noqa: N802
    """The negation of a condition."""
    return _Not(as_expr(a, BOOL))


def if_then_else(condition: ExprLike, true_value: ExprLike, false_value: ExprLike) -> Expr:
    """One of two values; the other is not evaluated."""
    return IfThenElse(as_expr(condition, BOOL), *_pair("add", true_value, false_value))


def Select(condition: ExprLike, true_value: ExprLike, false_value: ExprLike) -> Expr:  # noqa: N802
    """One of two values; both are evaluated."""
    return _Select(as_expr(condition, BOOL), *_pair("add", true_value, false_value))


def Cast(dtype: str | DType, value: ExprLike) -> Expr:  # noqa: N802
    """The value converted to another type."""
    return _convert(DType.parse(dtype), as_expr(value))


def cast(value: ExprLike, dtype: str | DType) -> Expr:
    """The value converted to another type."""
    return _convert(DType.parse(dtype), as_expr(value))


def reinterpret(dtype: str | DType, value: ExprLike) -> Expr:
    """The bits of the value as another type of the same width."""
    return _Call(DType.parse(dtype), "reinterpret", (as_expr(value),))


def Ramp(base: ExprLike, stride: ExprLike, lanes: int) -> Expr:  # noqa: N802
    """The vector ``[base, base + stride, …]``."""
    return _Ramp(*unified(base, stride, None), lanes)


def Broadcast(value: ExprLike, lanes: int) -> Expr:  # noqa: N802
    """``lanes`` copies of a scalar."""
    return _Broadcast(as_expr(value), lanes)


def _pure(name: str) -> Callable[..., Expr]:
    """The constructor of a pure call, ``T.exp`` and the like."""
    info = PURE_CALLS[name]

    def make(*args: ExprLike) -> Expr:
        if len(args) != info.arity:
            raise IRError(f"T.{name} takes {info.arity} arguments, not {len(args)}")
        like = next((a.dtype for a in args if isinstance(a, Expr)), None)
        if like is None and info.operands == "float":
            like = DType("float", 32)
        if len(args) == 2 and MATCHED.get() is not None and any(isinstance(a, float) for a in args):
            args = _pair("add", *args)
        made = tuple([as_expr(a, like) for a in args])
        have = made[0].dtype
        result = {"bool": BOOL.with_lanes(have.lanes), "given": DType("int", 32, have.lanes)}.get(info.result, have)
        return _Call(result, name, made)

    make.__name__ = name
    make.__doc__ = f"The call ``{name}`` of {info.arity} argument{'s' if info.arity > 1 else ''}."
    return make


def __getattr__(name: str) -> Any:
    """Types (``T.float32``) and pure calls (``T.exp``).

    For a type checker also whatever else programs are written with: their bodies are read, not run.
    """
    if name in PURE_CALLS:
        return _pure(name)
    if is_dtype_name(name):
        return _DTypeName(dtype_named(name))
    raise AttributeError(
        f"T.{name} has a meaning only inside a function decorated with @T.prim_func, which is never run"
    )
