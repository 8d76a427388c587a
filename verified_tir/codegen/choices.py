"""Expressions that do not evaluate all of their operands.

Where the operand that may be skipped can do no harm, all are evaluated and one is selected.  Otherwise there are
branches.  (To *select* is safe even where the unused arm overflows, shifts too far or converts out of range: that makes
an LLVM poison value, which a select drops.  What may not be evaluated in vain is a load or a division.)
"""

from __future__ import annotations

from verified_tir.codegen.builder import INDEX, MEMORY, NONNEGATIVE, Function, Register, Value
from verified_tir.codegen.indices import is_index
from verified_tir.codegen.llvm_types import REGISTER, splat
from verified_tir.codegen.operators import binary, select
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Binary, Expr, IfThenElse, IntImm, Load, Select
from verified_tir.ir.visit import children

_DIVISIONS = frozenset({"floordiv", "floormod", "truncdiv", "truncmod"})


def harmless(expr: Expr, known: dict[Expr, bool]) -> bool:
    """Whether an expression may be evaluated where the program does not."""
    found = known.get(expr)
    if found is None:
        found = known[expr] = _harmless(expr, known)
    return found


def _harmless(expr: Expr, known: dict[Expr, bool]) -> bool:
    match expr:
        case Load():
            return False
        case Binary(op=op, b=divisor) if op in _DIVISIONS:
            if not (isinstance(divisor, IntImm) and divisor.value not in (0, -1)):
                return False
    return all(harmless(child, known) for child in children(expr) if isinstance(child, Expr))


def logic(b: Function, e: Binary) -> Value:
    """Binary operators, among them the lazy ``and`` and ``or``; with lanes each lane decides for itself."""
    if e.op not in ("and", "or"):
        return binary(b, e)
    x, dtype, xf = b.value(e.a)
    decides = 1 if e.op == "or" else 0
    if isinstance(x, int):
        return _settled(b, e, (x, dtype, xf) if x == decides else b.value(e.b))
    if dtype.lanes > 1 or harmless(e.b, b.module.harmless):
        y, _, yf = b.value(e.b)
        flags = (xf & yf & INDEX) | ((xf | yf) & MEMORY)
        first, second = (splat(dtype, "true"), y) if decides else (y, splat(dtype, "false"))
        return select(b, x, dtype.lanes, dtype, first, second), dtype, flags
    more, done = b.new_label("more"), b.new_label("decided")
    before = b.block
    b.branch_if(x, *((done, more) if decides else (more, done)))
    mark = b.enter()
    b.open(more)
    y, _, yf = b.value(e.b)
    after = b.block
    b.branch(done)
    b.leave(mark)
    b.open(done)
    result = b.assign(f"phi i1 [ {decides}, %{before} ], [ {y}, %{after} ]")
    return result, dtype, (xf & yf & INDEX) | ((xf | yf) & MEMORY)


def _settled(b: Function, e: Expr, value: Value) -> Value:
    """The value of a choice that a constant makes: index arithmetic only if the operand not taken is that too."""
    register, dtype, flags = value
    return register, dtype, flags if is_index(b, e) else flags & MEMORY


def selection(b: Function, e: Select) -> Value:
    """``select``: everything is evaluated."""
    condition, conditions, cf = b.value(e.condition)
    x, dtype, xf = b.value(e.true_value)
    y, _, yf = b.value(e.false_value)
    flags = _flags(cf, xf, yf)
    if isinstance(condition, int):
        return (x if condition else y), dtype, flags
    return select(b, condition, conditions.lanes, dtype, x, y), dtype, flags


def if_then_else(b: Function, e: IfThenElse) -> Value:
    """``if_then_else``: one arm is evaluated."""
    condition, _, cf = b.value(e.condition)
    if isinstance(condition, int):
        return _settled(b, e, b.value(e.true_value if condition else e.false_value))
    known = b.module.harmless
    if harmless(e.true_value, known) and harmless(e.false_value, known):
        x, dtype, xf = b.value(e.true_value)
        y, _, yf = b.value(e.false_value)
        return select(b, condition, 1, dtype, x, y), dtype, _flags(cf, xf, yf)
    then, otherwise, done = b.new_label("then"), b.new_label("else"), b.new_label("chosen")
    b.branch_if(condition, then, otherwise)
    x, dtype, xf, from_x = _arm(b, then, e.true_value, done)
    y, _, yf, from_y = _arm(b, otherwise, e.false_value, done)
    b.open(done)
    result = b.assign(f"phi {REGISTER[dtype]} [ {x}, %{from_x} ], [ {y}, %{from_y} ]")
    return result, dtype, _flags(cf, xf, yf)


def _arm(b: Function, label: str, expr: Expr, done: str) -> tuple[Register, DType, int, str]:
    """An arm in blocks of its own; also the block it ends in."""
    mark = b.enter()
    b.open(label)
    register, dtype, flags = b.value(expr)
    last = b.block
    b.branch(done)
    b.leave(mark)
    return register, dtype, flags, last


def _flags(c: int, x: int, y: int) -> int:
    flags = (c | x | y) & MEMORY
    return flags | INDEX | (x & y & NONNEGATIVE) if c & x & y & INDEX else flags
