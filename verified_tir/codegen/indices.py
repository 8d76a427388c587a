"""Index expressions as 64-bit integers, which is what addresses are computed in.

Index arithmetic does not overflow its type, so its sums and products may as well be computed in 64 bits; loop variables
are kept in 64 bits to begin with.  Anything else is computed in its own type and extended.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from verified_tir.codegen.builder import INDEX, NONNEGATIVE, Function, Register
from verified_tir.codegen.vectors import extract
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import (
    Binary,
    Broadcast,
    Expr,
    IfThenElse,
    IntImm,
    LetExpr,
    Not,
    Ramp,
    Select,
    Shuffle,
    Var,
)
from verified_tir.ir.visit import children

_ARITHMETIC = {"add": "add", "sub": "sub", "mul": "mul"}
_EXACT: dict[str, Callable[[int, int], int]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv,
    "floormod": operator.mod,
}  # fmt: skip


def is_index(b: Function, expr: Expr) -> bool:
    """Whether an expression is index arithmetic (``verified_tir.ir.index_arith`` defines it), its variables bound."""
    table = b.module.index
    found = table.get(expr)
    if found is None:
        found = table[expr] = _is_index(b, expr)
    return found


def _is_index(b: Function, expr: Expr) -> bool:
    match expr:
        case IntImm():
            return True
        case Var():
            return bool(b.module.flags.get(expr, 0) & INDEX)
        case Binary(a=x, b=y):
            return is_index(b, x) and is_index(b, y)
        case LetExpr(var=var, value=value, body=body):
            b.module.flags.setdefault(var, INDEX if is_index(b, value) else 0)
            return is_index(b, value) and is_index(b, body)
        case Not() | Select() | IfThenElse() | Ramp() | Broadcast() | Shuffle():
            return all(is_index(b, child) for child in children(expr) if isinstance(child, Expr))
    return False


def wide(b: Function, expr: Expr) -> Register:
    """A scalar integer as an ``i64`` (of uint64, the value modulo 2**64)."""
    if type(expr) is IntImm:
        return expr.value
    found = b.wide.get(expr)
    if found is None:
        found = _wide(b, expr)
        if is_index(b, expr):  # data may depend on memory
            b.wide[expr] = found
            b.trail.append((b.wide, expr))
    return found


def _wide(b: Function, expr: Expr) -> Register:
    if type(expr) is Var:
        known = b.wide_variable(expr)
        if known is not None:
            return known
    elif type(expr) is Binary and is_index(b, expr):
        if expr.op in _ARITHMETIC:
            return arithmetic(b, expr.op, wide(b, expr.a), wide(b, expr.b), exact=_leaf(expr) != ("uint", 64))
        power = expr.b.value if type(expr.b) is IntImm else 0
        if power > 0 and power & (power - 1) == 0 and _leaf(expr) != ("uint", 64):
            if expr.op == "floordiv":
                return b.assign(f"ashr i64 {wide(b, expr.a)}, {power.bit_length() - 1}")
            if expr.op == "floormod":
                return b.assign(f"and i64 {wide(b, expr.a)}, {power - 1}")
    register, dtype, flags = b.value(expr)
    return extend(b, dtype, register, flags)


def lane_count(expr: Expr) -> int:
    """How many lanes an expression has (``expr.dtype.lanes``, without asking all the way down)."""
    while type(expr) is Binary:
        expr = expr.a
    if type(expr) is Ramp or type(expr) is Broadcast:
        return expr.lanes
    return 1 if type(expr) is Var or type(expr) is IntImm else expr.dtype.lanes


def _leaf(expr: Expr) -> tuple[str, int]:
    """Kind and width of an integer expression (``expr.dtype``, without asking all the way down)."""
    while type(expr) is Binary:
        expr = expr.a
    return expr.dtype.code, expr.dtype.bits


def extend(b: Function, dtype: DType, register: Register, flags: int = 0) -> Register:
    """A scalar integer of type ``dtype`` as an ``i64``."""
    if dtype.bits == 64 or isinstance(register, int):
        return register
    if dtype.code == "uint":
        return b.assign(f"zext i{dtype.bits} {register} to i64")
    how = "zext nneg" if flags & NONNEGATIVE else "sext"
    return b.assign(f"{how} i{dtype.bits} {register} to i64")


def arithmetic(b: Function, op: str, x: Register, y: Register, *, exact: bool = False) -> Register:
    """``x op y`` in 64 bits; ``exact`` if it is known not to overflow."""
    if isinstance(y, int):
        if isinstance(x, int):
            result = {"add": x + y, "sub": x - y, "mul": x * y}[op]
            return ((result + (1 << 63)) % (1 << 64)) - (1 << 63)
        if y == (1 if op == "mul" else 0):
            return x
        if op == "mul" and y == 0:
            return 0
    elif isinstance(x, int):
        if x == 0 and op != "sub":
            return y if op == "add" else 0
        if x == 1 and op == "mul":
            return y
    return b.assign(f"{op}{' nsw' if exact else ''} i64 {x}, {y}")


def ramp_of(b: Function, index: Expr, *, masked: bool = False) -> tuple[Register, Register] | None:
    """Base and stride, as 64-bit integers, of a vector index whose lanes are ``base + k * stride``.

    Lanes of data may wrap.  In a signed type they then lie outside every buffer, if all lanes are accessed, and
    wrapping makes no difference.  An unsigned stride may be a negative one in disguise, so that such a ramp is none.
    """
    match index:
        case Ramp(base=base, stride=stride):
            if is_index(b, index) or (base.dtype.code == "int" and not masked):
                return wide(b, base), wide(b, stride)
        case Broadcast(value=value):
            return wide(b, value), 0
        case Binary(op="add" | "sub" as op, a=x, b=y) if is_index(b, index):
            left, right = ramp_of(b, x), ramp_of(b, y)
            if left is not None and right is not None:
                return tuple(arithmetic(b, op, p, q) for p, q in zip(left, right, strict=True))  # type: ignore[return-value]
        case Binary(op="mul", a=x, b=Broadcast(value=factor)) | Binary(op="mul", a=Broadcast(value=factor), b=x):
            if is_index(b, index) and (inner := ramp_of(b, x)) is not None:
                times = wide(b, factor)
                return tuple(arithmetic(b, "mul", p, times) for p in inner)  # type: ignore[return-value]
    return None


def lanes_wide(b: Function, index: Expr, *, masked: bool = False) -> list[Register]:
    """The lanes of an index as 64-bit integers."""
    lanes, ramp = lane_count(index), ramp_of(b, index, masked=masked)
    if ramp is not None:
        base, stride = ramp
        steps = [arithmetic(b, "mul", stride, k) for k in range(lanes)]
        return [arithmetic(b, "add", base, step) for step in steps]
    vector, dtype, flags = b.value(index)
    scalar = dtype.scalar
    return [extend(b, scalar, extract(b, vector, dtype, k), flags) for k in range(lanes)]


def constant_lanes(b: Function, index: Expr) -> list[int] | None:
    """The lanes of index arithmetic, if all are constants here."""
    match index:
        case IntImm(value=value):
            return [value]
        case Var():
            known = b.wide_variable(index)
            return [known] if isinstance(known, int) else None
        case Broadcast(value=scalar, lanes=lanes):
            one = constant_lanes(b, scalar)
            return one and one * lanes
        case Ramp(base=base, stride=stride, lanes=lanes):
            first, step = constant_lanes(b, base), constant_lanes(b, stride)
            return [first[0] + k * step[0] for k in range(lanes)] if first and step else None
        case Binary(op=op, a=x, b=y) if op in _EXACT:
            left, right = constant_lanes(b, x), constant_lanes(b, y)
            if left and right and (op not in ("floordiv", "floormod") or all(right)):
                return [_EXACT[op](m, n) for m, n in zip(left, right, strict=True)]
    return None
