"""Operators that compute each element from elements at the same place, with numpy's broadcasting."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any

from verified_tir import te
from verified_tir.graph.element_types import (
    INTEGERS,
    SMALL,
    converted,
    decoded,
    encoded,
    encoded_integer,
    encoded_power,
)
from verified_tir.graph.errors import GraphError
from verified_tir.graph.operators.registry import operator
from verified_tir.graph.sizes import Dim, dim_text, normal, numbers, remedy, shape_text, symbols_of
from verified_tir.ir.expr import Binary, Expr, LetExpr, Var
from verified_tir.ir.sugar import const
from verified_tir.script import tir as T  # noqa: N812
from verified_tir.te.tensor import Tensor


def dims(t: Tensor) -> list[Dim]:
    """The shape: numbers, and sizes that are open.  Whether these are 0, 1 or equal to others, nobody may rely on."""
    return [normal(e) for e in t.shape]


def extents(t: Tensor) -> list[int]:
    """The shape as numbers, for operators that need to know them.

    :raises GraphError: if an extent is open.
    """
    return list(numbers(dims(t), t.name))


def batch_and_rest(t: Tensor) -> tuple[Dim, list[int]]:
    """The first extent, which may be open, and the others as numbers.

    :raises GraphError: if others are open.
    """
    first, *rest = dims(t)
    return first, list(numbers(rest, f"the dimensions of {t.name} behind the first"))


def broadcast_shape(*shapes: Sequence[Dim]) -> list[Dim]:
    """The common shape, by numpy's rules.

    :raises GraphError: if there is none, or that depends on sizes that are open.
    """
    rank = max(map(len, shapes), default=0)
    padded: list[list[Dim]] = [[*[1] * (rank - len(s)), *s] for s in shapes]
    found: list[Dim] = []
    for sizes in zip(*padded, strict=True):
        several = dict.fromkeys(d for d in sizes if d != 1)
        if len(several) > 1:
            text = " and ".join(map(shape_text, shapes))
            if not symbols_of(several):
                raise GraphError(f"shapes {text} do not go together")
            equal = " and ".join(map(dim_text, several))
            raise GraphError(f"shapes {text} go together only if {equal} are equal, or 1; {remedy(several)}")
        found.append(next(iter(several), 1))
    return found


def at(t: Tensor, indices: Sequence[Var]) -> Expr:
    """The element of a tensor that is broadcast to the rank of ``indices``."""
    size = dims(t)
    own = indices[len(indices) - len(size) :]
    return t[tuple(const(0) if n == 1 else i for n, i in zip(size, own, strict=True))]


def mapped(name: str, function: Callable[..., Expr], *operands: Tensor) -> Tensor:
    """``function`` of the operands' elements, at each place of their common shape."""
    shape = broadcast_shape(*(dims(t) for t in operands))
    return te.compute(shape, lambda *i: function(*(at(t, i) for t in operands)), name=name)


def same_type(*operands: Tensor) -> None:
    """:raises GraphError: if there are several types."""
    for t in operands[1:]:
        if t.dtype != operands[0].dtype:
            raise GraphError(f"the operands are {operands[0].dtype} and {t.dtype}; astype converts one of them")


def elementwise(name: str, doc: str = "", *, mixed: bool = False) -> Callable[[Callable[..., Expr]], None]:
    """Register an operator by what it makes of elements, with numpy's broadcasting.

    :param mixed: whether operands may be of different types.
    """

    def register(function: Callable[..., Expr]) -> None:
        @wraps(function)
        def define(*operands: Tensor, **attributes: Any) -> Tensor:
            if not mixed:
                same_type(*operands)
            return mapped(name.rpartition(".")[2], partial(function, **attributes), *operands)

        define.__doc__ = doc or function.__doc__
        operator(name)(define)

    return register


def is_nan(a: Expr) -> Expr:
    return T.Not(a.equal(a))


def greatest(a: Expr, b: Expr) -> Expr:
    """The greater of two, NaN if one is (``T.max`` gives the other one of a NaN on its left)."""
    return T.Select(is_nan(a), a, T.max(a, b)) if a.dtype.is_float else T.max(a, b)


def least(a: Expr, b: Expr) -> Expr:
    """The lesser of two, NaN if one is."""
    return T.Select(is_nan(a), a, T.min(a, b)) if a.dtype.is_float else T.min(a, b)


def by_comparison(name: str, doc: str, otherwise: Callable[..., Expr], compared: Callable[..., Expr]) -> None:
    """Register an operator with the attribute ``by_comparison``: what comparisons make of NaN and -0.0, as in TVM."""

    def of(x: Expr, *, by_comparison: bool = False) -> Expr:
        return (compared if by_comparison else otherwise)(x)

    def of_two(a: Expr, b: Expr, *, by_comparison: bool = False) -> Expr:
        return (compared if by_comparison else otherwise)(a, b)

    elementwise(name, doc)(of_two if name in ("maximum", "minimum") else of)


def clipped(x: Expr, low: Expr, high: Expr) -> Expr:
    """No less than ``low``, and no more than ``high``, which decides; NaN stays, since it stands on the right."""
    return T.min(high, T.max(low, x))


def _quotient(a: Expr, b: Expr) -> Expr:
    if a.dtype.is_float:
        return a / b
    quotient = T.truncdiv(a, b)
    if a.dtype.min_value < 0:  # the least value has no quotient by -1: it wraps, as negation does
        quotient = T.if_then_else(b.equal(-1), -a, quotient)
    return T.if_then_else(b.equal(0), const(0, a.dtype), quotient)


_BINARY: dict[str, tuple[str, Callable[[Expr, Expr], Any]]] = {
    "add": ("a + b", lambda a, b: a + b),
    "subtract": ("a - b", lambda a, b: a - b),
    "multiply": ("a * b", lambda a, b: a * b),
    "divide": ("a / b; of integers rounded towards zero, and 0 where b is", _quotient),
    "power": ("a to the power of b", te.power),
    "less": ("a < b", lambda a, b: a < b),
    "less_equal": ("a <= b", lambda a, b: a <= b),
    "greater": ("a > b", lambda a, b: a > b),
    "greater_equal": ("a >= b", lambda a, b: a >= b),
    "equal": ("a == b", lambda a, b: a.equal(b)),
    "logical_and": ("a and b", T.And),
    "logical_or": ("a or b", T.Or),
    "bitwise_and": ("the bits that both have", lambda a, b: Binary("bitand", a, b)),
    "bitwise_or": ("the bits that one of two has", lambda a, b: Binary("bitor", a, b)),
    "bitwise_xor": ("the bits, or truths, in which two differ", lambda a, b: Binary("bitxor", a, b)),
}


def _define_binary(name: str, text: str, function: Callable[[Expr, Expr], Expr]) -> None:
    def of(a: Expr, b: Expr) -> Expr:
        return function(a, b)

    elementwise(name, f"{text}, with numpy's broadcasting.")(of)


for _name, (_text, _function) in _BINARY.items():
    _define_binary(_name, _text, _function)


def _one(x: Expr) -> Expr:
    return const(1, x.dtype)


def _gelu(x: Expr) -> Expr:
    half, root = const(0.5, x.dtype), const(2.0**-0.5, x.dtype)
    return half * x * (_one(x) + te.erf(x * root))


def _gelu_tanh(x: Expr) -> Expr:
    half, root, cube = (const(v, x.dtype) for v in (0.5, (2.0 / math.pi) ** 0.5, 0.044715))
    return half * x * (_one(x) + te.tanh(root * (x + cube * (x * x * x))))


def _softplus(x: Expr) -> Expr:
    return T.max(const(0, x.dtype), x) + te.log1p(te.exp(-te.abs(x)))


def _sign(x: Expr) -> Expr:
    zero, one = const(0, x.dtype), _one(x)
    negative = -one if x.dtype.is_float or x.dtype.min_value < 0 else x  # nothing is negative there
    rest = T.Select(x.equal(zero), zero, x) if x.dtype.is_float else x  # of -0.0, and NaN
    return T.Select(x > zero, one, T.Select(x < zero, negative, rest))


def _compared_sign(x: Expr) -> Expr:
    zero, one = const(0, x.dtype), _one(x)
    signed = x.dtype.is_float or x.dtype.min_value < 0
    return T.Select(zero < x, one, T.Select(x < zero, -one, zero) if signed else zero)


def _bounded_line(x: Expr, alpha: float, beta: float) -> Expr:
    line = x * const(alpha, x.dtype) + const(beta, x.dtype)
    return clipped(line, const(0, x.dtype), _one(x))


_UNARY: dict[str, tuple[str, Callable[[Expr], Any]]] = {
    "nn.gelu": ("x/2 · (1 + erf(x/√2))", _gelu),
    "nn.gelu_tanh": ("gelu by the hyperbolic tangent: x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))", _gelu_tanh),
    "nn.softplus": ("log(1 + exp(x)), as max(x, 0) + log1p(exp(-|x|))", _softplus),
    "nn.hard_swish": ("x · min(max(x/6 + 1/2, 0), 1)", lambda x: x * _bounded_line(x, 1 / 6, 0.5)),
    "nn.silu": ("x · sigmoid(x)", lambda x: x * te.sigmoid(x)),
    "sigmoid": ("1 / (1 + exp(-x))", te.sigmoid),
    "tanh": ("the hyperbolic tangent", te.tanh),
    "exp": ("e to the power of x", te.exp),
    "log": ("the natural logarithm", te.log),
    "sqrt": ("the square root", te.sqrt),
    "rsqrt": ("1 / √x", te.rsqrt),
    "erf": ("the error function", te.erf),
    "abs": ("the absolute value", te.abs),
    "floor": ("rounded down", te.floor),
    "ceil": ("rounded up", te.ceil),
    "round": ("rounded to the nearest whole number, to the even one of two", te.nearbyint),
    "sin": ("the sine", te.sin),
    "cos": ("the cosine", te.cos),
    "tan": ("the tangent", te.tan),
    "atan": ("the inverse of the tangent", te.atan),
    "sinh": ("the hyperbolic sine", te.sinh),
    "cosh": ("the hyperbolic cosine", te.cosh),
    "isnan": ("whether x is NaN", is_nan),
    "negative": ("-x", lambda x: -x),
    "logical_not": ("not x", T.Not),
    "bitwise_not": ("the bits that x does not have", T.bitwise_not),
}


def _define_unary(name: str, text: str, function: Callable[[Expr], Expr]) -> None:
    def of(x: Expr) -> Expr:
        return function(x)

    elementwise(name, f"{text}, element by element.")(of)


for _name, (_text, _map) in _UNARY.items():
    _define_unary(_name, _text, _map)


by_comparison("maximum", "The greater of a and b, NaN if one is; ``a > b ? a : b`` by comparison.", greatest, T.max)
by_comparison("minimum", "The lesser of a and b, NaN if one is; ``a < b ? a : b`` by comparison.", least, T.min)
by_comparison(
    "nn.relu", "max(0, x), which keeps NaN and -0.0; ``x > 0 ? x : 0`` by comparison, which makes 0 of them.",
    lambda x: T.max(const(0, x.dtype), x), lambda x: T.max(x, const(0, x.dtype)),
)  # fmt: skip
by_comparison("sign", "1, 0 or -1; NaN stays, and is 0 by comparison.", _sign, _compared_sign)


@elementwise("clip")
def _clip(x: Expr, *, min: float, max: float, by_comparison: bool = False) -> Expr:
    """No less than ``min`` and no more than ``max``; NaN stays, and is ``max`` by comparison, as in TVM."""
    low, high = const(min, x.dtype), const(max, x.dtype)
    return T.max(T.min(x, high), low) if by_comparison else clipped(x, low, high)


@elementwise("nn.leaky_relu")
def _leaky_relu(x: Expr, *, alpha: float = 0.01) -> Expr:
    """``alpha`` times x where x is negative, else x."""
    return T.Select(x < const(0, x.dtype), x * const(alpha, x.dtype), x)


@elementwise("nn.elu")
def _elu(x: Expr, *, alpha: float = 1.0) -> Expr:
    """alpha · (exp(x) - 1) where x is negative, else x."""
    return T.Select(x < const(0, x.dtype), const(alpha, x.dtype) * (te.exp(x) - _one(x)), x)


@elementwise("nn.celu")
def _celu(x: Expr, *, alpha: float = 1.0) -> Expr:
    """max(0, x) + min(0, alpha · (exp(x / alpha) - 1)), which is not an elu where alpha is negative."""
    zero, scale = const(0, x.dtype), const(alpha, x.dtype)
    return T.max(zero, x) + T.min(zero, scale * (te.exp(x / scale) - _one(x)))


@elementwise("nn.hard_sigmoid")
def _hard_sigmoid(x: Expr, *, alpha: float = 0.2, beta: float = 0.5) -> Expr:
    """min(max(alpha · x + beta, 0), 1)."""
    return _bounded_line(x, alpha, beta)


@elementwise("nn.prelu")
def _prelu(x: Expr, slope: Expr) -> Expr:
    """``slope`` times x where x is negative, else x; the slope is broadcast."""
    return T.Select(x < const(0, x.dtype), x * slope, x)


def _odd(x: Expr) -> Expr:
    return T.floormod(x, const(2, x.dtype)).equal(_one(x))


@elementwise("integer_power", mixed=True)
def _integer_power(x: Expr, y: Expr) -> Expr:
    """x to the power of y by squaring, modulo its type; a negative exponent gives the quotient of 1 by the power."""
    one, zero = _one(x), const(0, x.dtype)
    names: list[tuple[Var, Expr]] = []

    def named(value: Expr) -> Var:
        v = Var.fresh("p", x.dtype)
        names.append((v, value))
        return v

    found: Expr = one
    square: Expr = named(x)
    for k in range(y.dtype.bits - (y.dtype.min_value < 0)):
        found = named(T.Select(_odd(T.floordiv(y, const(2**k, y.dtype))), found * square, found))
        square = named(square * square)
    if y.dtype.min_value < 0:
        if x.dtype.min_value == 0:
            below = T.Select(x.equal(one), one, zero)
        else:
            below = T.Select(x.equal(one), one, T.Select(x.equal(-one), T.Select(_odd(y), -one, one), zero))
        found = T.Select(y < const(0, y.dtype), below, found)
    for v, value in reversed(names):
        found = LetExpr(v, value, found)
    return found


@elementwise("astype")
def _astype(x: Expr, *, dtype: str) -> Expr:
    """The elements converted to another type; a float that an integer type does not hold is its nearest end, NaN 0."""
    return converted(x, dtype)


@elementwise("convert")
def _convert(x: Expr, *, from_dtype: str, dtype: str, saturate: bool = True) -> Expr:
    """Elements of a type of less than 8 bits, or a float of 8, converted to another type, or from one."""
    if from_dtype not in SMALL and dtype not in SMALL:
        raise GraphError(f"astype converts {from_dtype} to {dtype}")
    if from_dtype == "float64" or (
        from_dtype not in SMALL and from_dtype.endswith(("int32", "int64")) and dtype not in INTEGERS
    ):
        raise GraphError(f"{from_dtype} would be rounded twice on the way to {dtype}")
    value = decoded(x, from_dtype) if from_dtype in SMALL else x
    if dtype in INTEGERS:
        return encoded_integer(value, dtype)
    if dtype not in SMALL:
        return converted(value, dtype)
    value = T.cast(value, "float32")
    return encoded_power(value) if dtype == "float8_e8m0fnu" else encoded(value, dtype, saturate=saturate)


@operator("where")
def where(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """x where the condition holds, else y."""
    same_type(x, y)
    return mapped("where", T.Select, condition, x, y)


@elementwise("nn.dropout")
def _dropout(x: Expr, *, rate: float = 0.5) -> Expr:
    """x: nothing is dropped in inference."""
    del rate
    return x


@elementwise("identity")
def _identity(x: Expr) -> Expr:
    """x itself."""
    return x
