"""Changes of one expression: mistakes, and laws that hold for some types and ranges only (:mod:`near_misses`).

Each is a name and a function that makes the new expression; what comes out may be ill-typed, which raises
:class:`IRError` and is passed over.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import (
    Binary,
    BinaryOp,
    Broadcast,
    Call,
    Cast,
    Expr,
    FloatImm,
    IfThenElse,
    IntImm,
    LetExpr,
    Load,
    Not,
    Ramp,
    Select,
    Shuffle,
    Undef,
    Var,
)
from verified_tir.ir.sugar import const

Makes: TypeAlias = tuple[str, Callable[[], Expr]]

DIVIDED: Final = "twice the value divided by two"
"""Floored, and truncated, which is another value where it is negative: each expression has both, in this order."""
_OTHER: Final[dict[str, tuple[BinaryOp, ...]]] = {
    "add": ("sub",), "sub": ("add",), "mul": ("add",), "div": ("mul",), "floordiv": ("truncdiv",),
    "floormod": ("truncmod",), "truncdiv": ("floordiv",), "truncmod": ("floormod",), "min": ("max",), "max": ("min",),
    "bitand": ("bitor",), "bitor": ("bitxor",), "bitxor": ("bitand",), "shl": ("shr",), "shr": ("shl",),
    "lt": ("le", "gt"), "le": ("lt", "ne"), "gt": ("ge",), "ge": ("gt",), "eq": ("le", "ne"), "ne": ("eq", "lt"),
    "and": ("or",), "or": ("and",),
}  # fmt: skip
_MIRROR: Final[dict[str, BinaryOp]] = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
_OPPOSITE: Final[dict[str, BinaryOp]] = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}
_NARROWER: Final = {"float32": "float16", "float64": "float32", "int32": "int8", "int64": "int32", "uint8": "int8"}
_CALLS: Final = {"floor": "ceil", "ceil": "trunc", "trunc": "floor", "round": "ceil", "nearbyint": "trunc",
                 "isnan": "isinf", "isinf": "isnan"}  # fmt: skip


def expression_changes(e: Expr, scope: tuple[Var, ...]) -> Iterator[Makes]:
    """Changes of an expression.

    :param scope: variables that may be used.
    """
    match e:
        case Binary():
            yield from _of_binary(e)
        case Not(a=a):
            yield "drop a negation", lambda: a
        case Select() | IfThenElse():
            yield from _of_choice(e)
        case Cast(type=t, value=v):
            yield from _of_cast(e, t, v)
        case Load():
            yield from _of_load(e)
        case IntImm(type=t, value=v) if not t.is_bool:
            yield "a constant off by one", lambda: const(v + 1, t)
            yield "a constant off by one", lambda: const(v - 1, t)
            yield "another constant", lambda: const(-v, t)
            yield "another constant", lambda: const(2 * v, t)
        case IntImm(type=t, value=v):
            yield "a condition inverted", lambda: const(1 - v, t)
        case FloatImm(type=t, value=v):
            yield "the sign of a constant", lambda: FloatImm(t, -v)
            yield "another constant", lambda: const(v + 1, t)
            yield "a constant off by a bit", lambda: const(math.nextafter(v, math.inf), t)
        case Call(type=t, op=op, args=args):
            yield from _of_call(t, op, args)
        case Ramp(base=base, stride=stride, lanes=lanes):
            yield "another stride", lambda: Ramp(base, const(0, stride.dtype), lanes)
            yield "another stride", lambda: Ramp(base, Binary("sub", const(0, stride.dtype), stride), lanes)
        case Shuffle(vectors=vectors, indices=indices):
            yield "lanes in another order", lambda: Shuffle(vectors, tuple(reversed(indices)))
        case LetExpr(var=var, value=value, body=body):
            from verified_tir.ir.visit import substitute

            yield "a let inlined", lambda: substitute(body, {var: value})
        case _:
            pass
    if isinstance(e, Var):
        for other in scope:
            if other is not e and other.type is e.type:
                yield "another variable", lambda other=other: other  # type: ignore[misc]
    if isinstance(e.dtype, DType):
        yield from _of_any(e)


def _of_binary(e: Binary) -> Iterator[Makes]:
    op, a, b = e.op, e.a, e.b
    for other in _OTHER.get(op, ()):
        yield "another operator", lambda other=other: Binary(other, a, b)  # type: ignore[misc]
    yield "operands exchanged", lambda: Binary(op, b, a)
    if op not in _MIRROR:
        yield "an operand dropped", lambda: a
        yield "an operand dropped", lambda: b
    if op in _MIRROR:
        yield "a comparison mirrored", lambda: Binary(_MIRROR[op], b, a)
        yield "a comparison negated twice", lambda: Not(Binary(_OPPOSITE[op], a, b))
    match a:
        case Binary(op=inner, a=x, b=y) if op in ("add", "mul", "min", "max") and inner == op:
            yield "another association", lambda: Binary(op, x, Binary(op, y, b))
        case Binary(op=inner, a=x, b=y) if inner in ("add", "sub") and op in ("mul", "floordiv", "div", "floormod"):
            yield "distributed", lambda: Binary(inner, Binary(op, x, b), Binary(op, y, b))
        case Binary(op="mul", a=x, b=y) if op == "add" and e.dtype.is_float:
            yield "contracted", lambda: Call(e.dtype, "fma", (x, y, b))
        case _:
            pass
    if op in ("min", "max"):
        compare: BinaryOp = "lt" if op == "min" else "gt"
        yield "a minimum spelled out", lambda: Select(Binary(compare, a, b), a, b)
        yield "a minimum spelled out", lambda: Select(Binary(compare, b, a), b, a)
    if op == "sub":
        yield "a difference as a sum", lambda: Binary("add", a, Binary("sub", _number(0, e.dtype), b))
    if op == "floordiv":
        yield "a division as a shift", lambda: Binary("shr", a, _number(1, e.dtype))
    if op in ("and", "or"):
        unit = const(op == "and", e.dtype)
        yield "a condition dropped", lambda: Binary(op, unit, b)


def _of_choice(e: Select | IfThenElse) -> Iterator[Makes]:
    kind, other = (Select, IfThenElse) if isinstance(e, Select) else (IfThenElse, Select)
    c, a, b = e.condition, e.true_value, e.false_value
    yield "a lazy choice made eager, or the reverse", lambda: other(c, a, b)
    yield "arms exchanged", lambda: kind(c, b, a)
    yield "arms exchanged with their condition", lambda: kind(Not(c), b, a)
    yield "an arm for the choice", lambda: a
    yield "an arm for the choice", lambda: b


def _of_cast(e: Cast, t: DType, v: Expr) -> Iterator[Makes]:
    yield from _through(e, v, t)
    if v.dtype is t:
        yield "a cast dropped", lambda: v


def _through(e: Expr, v: Expr, t: DType) -> Iterator[Makes]:
    """A detour through another type on the way to ``t``."""
    for other in ("float32", "int32", "uint8", "float64", "int64"):
        between = DType.parse(other).with_lanes(t.lanes)
        if between is not t and between is not v.dtype:
            yield "a cast through another type", lambda between=between: Cast(t, Cast(between, v))  # type: ignore[misc]


def _of_load(e: Load) -> Iterator[Makes]:
    for k, i in enumerate(e.indices):
        if i.dtype.lanes == 1:
            for by in (1, -1):
                yield (
                    "an index off by one",
                    lambda k=k, i=i, by=by: Load(  # type: ignore[misc]
                        e.buffer, (*e.indices[:k], Binary("add", i, _number(by, i.dtype)), *e.indices[k + 1 :]),
                        e.predicate,
                    ),
                )  # fmt: skip
    if len(e.indices) > 1:
        yield "indices exchanged", lambda: Load(e.buffer, tuple(reversed(e.indices)), e.predicate)
    if e.predicate is not None:
        yield "a mask dropped", lambda: Load(e.buffer, e.indices)
    yield "undef for an element", lambda: Undef(e.dtype)


def _of_call(t: DType, op: str, args: tuple[Expr, ...]) -> Iterator[Makes]:
    if len(args) > 1:
        yield "arguments exchanged", lambda: Call(t, op, (args[1], args[0], *args[2:]))
    if op == "fma":
        yield "rounded twice", lambda: Binary("add", Binary("mul", args[0], args[1]), args[2])
    if op in _CALLS:
        yield "another function", lambda: Call(t, _CALLS[op], args)
    if op == "likely":
        yield "likely dropped", lambda: args[0]


def _number(value: float, dtype: DType) -> Expr:
    """A constant with the lanes of a type."""
    made = const(value, dtype.scalar)
    return Broadcast(made, dtype.lanes) if dtype.lanes > 1 else made


def _of_any(e: Expr) -> Iterator[Makes]:
    """Laws of the integers, of the reals, and of conditions, that may or may not hold here."""
    t = e.dtype
    if t.is_bool:
        yield "negated", lambda: Not(e)
        yield "negated twice", lambda: Not(Not(e))
        yield "twice the condition", lambda: Binary("and", e, e)
        return
    if not (t.is_float or t.is_int):
        return

    def b(op: BinaryOp, x: Expr, y: Expr | float) -> Expr:
        return Binary(op, x, y if isinstance(y, Expr) else _number(y, t))

    law = "a law of the reals" if t.is_float else "a law of the integers"
    yield law, lambda: b("add", e, 0)
    yield law, lambda: b("sub", e, 0)
    yield law, lambda: b("mul", e, 1)
    yield law, lambda: b("sub", b("add", e, 1), 1)
    yield law, lambda: b("sub", b("add", e, e), e)
    yield law, lambda: b("min", e, e)
    yield law, lambda: b("sub", _number(0, t), b("sub", _number(0, t), e))
    yield law, lambda: Select(Binary("eq", e, e), e, b("add", e, 1))
    yield "undef made a number", lambda: b("sub", Undef(t), Undef(t))
    yield "undef made a number", lambda: b("mul", Undef(t), 0)
    yield "undef made a number", lambda: b("add", e, b("sub", Undef(t), Undef(t)))
    yield "zero", lambda: b("sub", e, e)
    yield "zero", lambda: b("mul", e, 0)
    yield "off by one", lambda: b("add", e, 1)
    narrower = _NARROWER.get(str(t.scalar))
    if narrower is not None:
        yield "a narrower type", lambda: Cast(t, Cast(DType.parse(narrower).with_lanes(t.lanes), e))
    if t.is_float:
        yield law, lambda: b("add", e, -0.0)
        yield law, lambda: b("div", b("mul", e, 2), 2)
        yield law, lambda: b("mul", b("mul", e, 0.5), 2)
        yield law, lambda: b("max", b("min", e, math.inf), -math.inf)
        yield "a wider type", lambda: Cast(t, Cast(DType.parse("float64").with_lanes(t.lanes), e))
    else:
        yield law, lambda: b("floordiv", b("mul", e, 2), 2)
        yield law, lambda: b("add", b("mul", b("floordiv", e, 3), 3), b("floormod", e, 3))
        yield law, lambda: b("add", b("mul", b("truncdiv", e, 3), 3), b("truncmod", e, 3))
        yield law, lambda: b("shr", b("shl", e, 1), 1)
        yield law, lambda: b("bitxor", b("bitxor", e, 5), 5)
        for op in ("floordiv", "truncdiv"):
            yield DIVIDED, lambda op=op: b("add", b(op, b("sub", b("mul", e, 2), 7), 2), 4)  # type: ignore[misc]
        yield "a sign dropped", lambda: Cast(t, Cast(DType("uint", t.bits, t.lanes), e))
        yield "a remainder", lambda: b("floormod", e, 4)
