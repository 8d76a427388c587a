"""Binary operators into instructions.

Most are one instruction, which :data:`SIMPLE` names for each type.  The others: divisions that round down, the order of
floats (``order.py``), minimum and maximum of integers, and arithmetic of float16 and bfloat16.  That is computed in
float32 and rounded, which equals one rounding for ``+ - * /``, as 24 >= 2 * 11 + 2 (S. A. Figueroa, "When is double
rounding innocuous?", 1995); subnormal results are exact in float32 or far enough from a tie.
"""

from __future__ import annotations

from verified_tir.codegen.builder import INDEX, MEMORY, NONNEGATIVE, Function, Register, Value
from verified_tir.codegen.floats import narrow, widen
from verified_tir.codegen.llvm_types import REGISTER, bools, lanes_of, splat
from verified_tir.codegen.order import ORDER_OPS, ordered
from verified_tir.ir.dtype import FLOAT32, DType
from verified_tir.ir.expr import COMPARE_OPS, Binary, BinaryOp, Not
from verified_tir.semantics.errors import UndefinedBehaviour
from verified_tir.semantics.operators import binary_operation

_FLOAT = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_BITS = {"bitand": "and", "bitor": "or", "bitxor": "xor"}
_FCMP = {"eq": "oeq", "ne": "une"}
_DIVIDE = {"truncdiv": "div", "truncmod": "rem", "floordiv": "div", "floormod": "rem"}

Simple = tuple[str, str, DType]
"""The instruction for data, the one for index arithmetic, and the type of the result."""


def simple_instruction(op: str, dtype: DType) -> Simple | None:
    """The single instruction that computes ``op`` on values of type ``dtype``, if there is one."""
    kind = REGISTER[dtype]
    if op in COMPARE_OPS:
        return _comparison(op, dtype, kind)
    if op in _BITS:
        return f"{_BITS[op]} {kind}", f"{_BITS[op]} {kind}", dtype
    if dtype.is_float:
        if dtype.bits < 32 or op not in _FLOAT:
            return None
        return f"{_FLOAT[op]} {kind}", f"{_FLOAT[op]} {kind}", dtype
    signed = dtype.code == "int"
    if op in ("add", "sub", "mul", "shl"):
        return f"{op} {kind}", f"{op} {'nsw' if signed else 'nuw'} {kind}", dtype
    if op == "shr":
        text = f"{'ashr' if signed else 'lshr'} {kind}"
        return text, text, dtype
    if op in _DIVIDE and (op.startswith("trunc") or not signed):
        text = f"{'s' if signed else 'u'}{_DIVIDE[op]} {kind}"
        return text, text, dtype
    return None


def _comparison(op: str, dtype: DType, kind: str) -> Simple | None:
    if dtype.is_float and (dtype.bits < 32 or op not in _FCMP):
        return None
    if dtype.is_float:
        text = f"fcmp {_FCMP[op]} {kind}"
    else:
        sign = "" if op in ("eq", "ne") else "s" if dtype.code == "int" else "u"
        text = f"icmp {sign}{op} {kind}"
    return text, text, bools(dtype.lanes)


class _Simple(dict[tuple[str, DType], "Simple | None"]):
    def __missing__(self, key: tuple[str, DType]) -> Simple | None:
        found = self[key] = simple_instruction(*key)
        return found


SIMPLE = _Simple()


def binary(b: Function, e: Binary) -> Value:
    """``a op b``, where both operands are evaluated (lazy ``and`` and ``or`` are elsewhere)."""
    x, dtype, xf = b.value(e.a)
    y, _, yf = b.value(e.b)
    op = e.op
    flags = (xf & yf & INDEX) | ((xf | yf) & MEMORY)
    if flags & INDEX:
        flags |= _nonnegative(op, xf, yf)
    if type(y) is int:
        if type(x) is int:
            known = folded(op, dtype, x, y)
            if known is not None:
                return known[0], known[1], known[2] if flags & INDEX else flags
        elif (y == 0 and op in ("add", "sub")) or (y == 1 and op in ("mul", "floordiv", "truncdiv")):
            return x, dtype, flags
    elif x == 0 and op == "add" and type(x) is int:
        return y, dtype, flags
    if dtype.is_float and op in ORDER_OPS:
        return ordered(b, op, dtype, x, y), bools(dtype.lanes) if op in COMPARE_OPS else dtype, flags
    simple = SIMPLE[op, dtype]
    if simple is not None:
        return b.assign(f"{simple[flags & INDEX]} {x}, {y}"), simple[2], flags
    if op in ("min", "max"):
        return _extremum(b, op, dtype, x, y), dtype, flags
    if dtype.is_float:
        return (*_in_float32(b, op, dtype, x, y), flags)
    if xf & yf & NONNEGATIVE:
        return b.assign(f"u{_DIVIDE[op]} {REGISTER[dtype]} {x}, {y}"), dtype, flags
    return _floor(b, op, dtype, x, y), dtype, flags


def _nonnegative(op: str, x: int, y: int) -> int:
    """Whether the result of index arithmetic is known not to be negative."""
    if op in ("add", "mul", "floordiv", "truncdiv", "min", "truncmod"):
        return x & y & NONNEGATIVE
    if op == "floormod":  # the sign is the divisor's
        return y & NONNEGATIVE
    if op in ("max", "bitand"):
        return (x | y) & NONNEGATIVE
    return x & NONNEGATIVE if op == "shr" else 0


def folded(op: BinaryOp, dtype: DType, x: int, y: int) -> Value | None:
    """The operator on two constants, or ``None`` where that is undefined behaviour."""
    if dtype.is_bool:
        result = binary_operation(op, dtype)(bool(x), bool(y))
    else:
        try:
            result = binary_operation(op, dtype, True)(x, y)
        except UndefinedBehaviour:
            return None
    flags = INDEX | NONNEGATIVE if result >= 0 else INDEX
    return int(result), bools(1) if op in COMPARE_OPS else dtype, flags


def negation(b: Function, e: Not) -> Value:
    """Logical negation."""
    x, dtype, flags = b.value(e.a)
    if type(x) is int:
        return 1 - x, dtype, flags
    return b.assign(f"xor {REGISTER[dtype]} {x}, {splat(dtype, 'true')}"), dtype, flags & ~NONNEGATIVE


def select(b: Function, condition: Register, lanes: int, dtype: DType, x: Register, y: Register) -> str:
    """``condition ? x : y``; ``lanes`` are the condition's."""
    kind = REGISTER[dtype]
    return b.assign(f"select {REGISTER[bools(lanes)]} {condition}, {kind} {x}, {kind} {y}")


def _extremum(b: Function, op: str, dtype: DType, x: Register, y: Register) -> str:
    simple = SIMPLE["lt" if op == "min" else "gt", dtype]
    assert simple is not None
    first = b.assign(f"{simple[0]} {x}, {y}")
    return select(b, first, dtype.lanes, dtype, x, y)


def _in_float32(b: Function, op: BinaryOp, dtype: DType, x: Register, y: Register) -> tuple[str, DType]:
    """An operator on float16 or bfloat16."""
    simple = SIMPLE[op, lanes_of(FLOAT32, dtype.lanes)]
    assert simple is not None
    exact = b.assign(f"{simple[0]} {widen(b, dtype, x)}, {widen(b, dtype, y)}")
    return (exact, simple[2]) if op in COMPARE_OPS else (narrow(b, dtype, exact), dtype)


def _floor(b: Function, op: str, dtype: DType, x: Register, y: Register) -> str:
    """Signed division that rounds down; the remainder that goes with it."""
    kind = REGISTER[dtype]
    if type(y) is int and y > 0 and y & (y - 1) == 0:
        if op == "floordiv":
            return b.assign(f"ashr {kind} {x}, {y.bit_length() - 1}")
        return b.assign(f"and {kind} {x}, {y - 1}")
    zero = splat(dtype, 0)
    remainder = b.assign(f"srem {kind} {x}, {y}")
    signs = b.assign(f"xor {kind} {remainder}, {y}")
    differ = b.assign(f"icmp slt {kind} {signs}, {zero}")
    inexact = b.assign(f"icmp ne {kind} {remainder}, {zero}")
    conditions = REGISTER[bools(dtype.lanes)]
    wrong = b.assign(f"and {conditions} {differ}, {inexact}")
    if op == "floordiv":
        quotient = b.assign(f"sdiv {kind} {x}, {y}")
        correction = b.assign(f"sext {conditions} {wrong} to {kind}")
        return b.assign(f"add {kind} {quotient}, {correction}")
    correction = b.assign(f"select {conditions} {wrong}, {kind} {y}, {kind} {zero}")
    return b.assign(f"add {kind} {remainder}, {correction}")
