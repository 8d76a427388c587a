"""What ``T.name(…)`` means in an expression.

``CALLS`` maps names to readers of their arguments.  A name that stands neither there nor among the pure calls of
``verified_tir.ir.calls`` is an opaque call (``verified_tir.ir.script.opaque``).
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.calls import KINDS, PURE_CALLS
from verified_tir.ir.dtype import BOOL, HANDLE, INT32, DType
from verified_tir.ir.expr import (
    Binary,
    BinaryOp,
    Broadcast,
    Call,
    Cast,
    Expr,
    IfThenElse,
    LetExpr,
    Load,
    Not,
    Ramp,
    Select,
    Shuffle,
    StringImm,
    Undef,
    Var,
)
from verified_tir.ir.float_bits import largest
from verified_tir.ir.node import IRError
from verified_tir.ir.script import scalable
from verified_tir.ir.script.arguments import match_arguments
from verified_tir.ir.script.device import ENTRY, IDS, device, is_tile, operation
from verified_tir.ir.script.dtypes import dtype_named, is_dtype_name
from verified_tir.ir.script.opaque import call_by_name, check_stated, opaque_call, spread
from verified_tir.ir.script.values import (
    PLAIN_UNDEF,
    Plain,
    Selection,
    Value,
    broadcast_to,
    cast_to,
    condition,
    converted,
    matched,
    operands_of,
    unified,
)
from verified_tir.ir.sugar import as_expr, const

if TYPE_CHECKING:
    from verified_tir.ir.script.exprs import ExprParser

Reader = Callable[["ExprParser", ast.Call, "DType | None"], Value]
Matching = Callable[["Expr | Plain", "Expr | Plain", "DType | None"], tuple[Expr, Expr]]
"""How the operands of an operation are brought to one type."""

BINARY_CALLS: dict[str, BinaryOp] = {
    "Add": "add", "Sub": "sub", "Mul": "mul", "FloorDiv": "floordiv", "FloorMod": "floormod", "Mod": "truncmod",
    "floordiv": "floordiv", "floormod": "floormod", "truncdiv": "truncdiv", "truncmod": "truncmod",
    "indexdiv": "floordiv", "indexmod": "floormod", "min": "min", "max": "max", "Min": "min", "Max": "max",
    "shift_left": "shl", "shift_right": "shr", "bitwise_and": "bitand", "bitwise_or": "bitor", "bitwise_xor": "bitxor",
    "LShift": "shl", "RShift": "shr", "BitwiseAnd": "bitand", "BitwiseOr": "bitor", "BitwiseXor": "bitxor",
    "EQ": "eq", "NE": "ne", "LT": "lt", "LE": "le", "GT": "gt", "GE": "ge", "Div": "div", "div": "div",
}  # fmt: skip
"""Operators written as calls; unlike the signs, they never fold."""

PURE_ALIASES = {"fabs": "abs", "power": "pow", "ignore_loop_partition": "likely", "BitwiseNot": "bitwise_not"}
"""Other names of pure calls."""

CONTROL_CALLS = frozenset(
    {"break_loop", "continue_loop", "ret", "thread_return", "Break", "Continue", "Return", "If", "Then", "Else",
     "While"}
)  # fmt: skip
"""Calls that leave a loop or the function; a program here always runs its statements in order."""

NO_MEANING = {
    "Reduce": "reductions as expressions have no meaning here; write the loop",
    "comm_reducer": "a reducer has a meaning in the attribute reduce_scope only; write the loop",
}

DTYPE_IS_DROPPED = frozenset(
    {"if_then_else", "shift_left", "shift_right", "bitwise_and", "bitwise_or", "bitwise_xor", "truncdiv", "truncmod",
     "floordiv", "floormod", "indexdiv", "indexmod", "ceildiv", "min", "max", "address_of"}
)  # fmt: skip
"""Operations on which TVM takes ``dtype=`` and does not look at it."""

OF_INTEGERS_THEMSELVES = frozenset({"floor", "ceil", "trunc", "nearbyint", "round"})
"""Calls that TVM drops where they are applied to an integer."""

MATCHED_CALLS = frozenset({"pow", "atan2"})
"""Pure calls whose two operands TVM converts to one type."""

HEAD_ONLY = frozenset({"reads", "writes", "where", "init", "sblock_attr", "block_attr"})
"""Calls that belong at the head of a block."""

STATEMENTS = frozenset(
    {"evaluate", "Evaluate", "assume", "attr", "launch_thread", "buffer_store", "BufferStore", "Assert", "func_attr",
     "serial", "parallel", "vectorized", "unroll", "thread_binding", "grid", "sblock", "block"}
)  # fmt: skip
"""Calls that are statements; one that is not a statement would be printed as one."""

DECLARATIONS = frozenset(
    {"match_buffer", "decl_buffer", "buffer_decl", "Buffer", "alloc_buffer", "sblock_alloc_buffer", "alloc_local",
     "alloc_shared", "allocate", "env_thread", "bind", "Bind", "LetStmt", "meta_var"}
)  # fmt: skip
"""Calls that give their result a name."""


def t_call(p: ExprParser, node: ast.Call, name: str, want: DType | None) -> Value:
    """The value of ``T.name(…)``.

    :raises ScriptError: for an unknown name, or arguments that do not fit.
    """
    if name in DTYPE_IS_DROPPED and (stated := [k for k in node.keywords if k.arg == "dtype"]):
        rest = [k for k in node.keywords if k.arg != "dtype"]
        plain = ast.copy_location(ast.Call(node.func, node.args, rest), node)
        made = p.typed(node, p.number(plain, want), want)
        check_stated(name, p.dtype(stated[0].value), made)
        return made
    if name in CALLS:
        return CALLS[name](p, node, want)
    if is_tile(name):
        return operation(p, node, name)
    if name in BINARY_CALLS:
        return _binary(p, node, BINARY_CALLS[name], want)
    pure = PURE_ALIASES.get(name, name)
    if pure in PURE_CALLS and pure != "reinterpret":
        return _pure(p, node, pure, want)
    if is_dtype_name(name):
        return _conversion(p, node, dtype_named(name))
    if name in CONTROL_CALLS:
        raise p.error(node, f"T.{name}: leaving a loop or a function early has no meaning here")
    if name in DECLARATIONS:
        raise p.error(node, f"T.{name} declares a name, and stands alone on the right of =")
    if name in STATEMENTS or name in HEAD_ONLY or name in IDS or name == ENTRY:
        raise p.error(node, f"T.{name} is a statement of its own, and no part of an expression")
    if name in NO_MEANING:
        raise p.error(node, f"T.{name}: {NO_MEANING[name]}")
    return opaque_call(p, node, name, [*CALLS, *BINARY_CALLS, *PURE_CALLS, *PURE_ALIASES])


def _binary(p: ExprParser, node: ast.Call, op: BinaryOp, want: DType | None) -> Expr:
    args = match_arguments(p.source, node, ("a", "b"), 2)
    want = None if want and want.is_bool else want
    a, b = operands_of(op, p.number(args["a"], want), p.number(args["b"], want), want)
    if op == "div" and a.dtype.is_int:
        op = "truncdiv"
    return Binary(op, a, b)


def _pure(p: ExprParser, node: ast.Call, name: str, want: DType | None) -> Expr:
    """A pure call by name, its operands brought to one type."""
    info = PURE_CALLS[name]
    result: DType | None = None
    for keyword in node.keywords:
        if keyword.arg != "dtype":
            raise p.error(keyword.value, f"T.{name} has no argument {keyword.arg}")
        result = p.dtype(keyword.value)
    if len(node.args) != info.arity:
        raise p.error(node, f"T.{name} takes {info.arity} arguments, not {len(node.args)}")
    numbers = [p.number(a, want if info.result == "same" else None) for a in node.args]
    if name in OF_INTEGERS_THEMSELVES and isinstance(numbers[0], Expr) and numbers[0].dtype.is_int:
        return numbers[0]
    if name in MATCHED_CALLS and any(isinstance(n, Expr) for n in numbers):
        numbers = list(matched(numbers[0], numbers[1], None))
    like = next((n.dtype for n in numbers if isinstance(n, Expr)), None)
    if like is None and info.operands == "float":
        like = want if want is not None and want.is_float else DType("float", 32)
    if like is None and info.operands == "int" and any(n is PLAIN_UNDEF for n in numbers):
        like = want if want is not None and want.is_int and info.result == "same" else INT32
    args = tuple([p.typed(a, n, like) for a, n in zip(node.args, numbers, strict=True)])
    if any(a.dtype is not args[0].dtype for a in args):
        raise p.error(node, f"the operands of T.{name} differ in type: {', '.join(str(a.dtype) for a in args)}")
    have = args[0].dtype
    if have.code not in KINDS[info.operands]:
        raise p.error(node.args[0], f"T.{name} takes {info.operands} operands, not {have}")
    if info.result == "bool":
        result = BOOL.with_lanes(have.lanes)
    elif info.result == "given":
        result = result or INT32.with_lanes(have.lanes)
    else:
        result = have
    return Call(result, name, args)


def _conversion(p: ExprParser, node: ast.Call, dtype: DType) -> Value:
    """``T.float32(x)``: a constant, a conversion, or (without argument) a new variable."""
    if dtype.code == "handle":
        raise p.error(node, "a handle is declared as a parameter or by an assignment, not inside an expression")
    if len(node.args) != 1 or node.keywords:
        raise p.error(node, f"T.{dtype} takes one value here")
    found = p.value(node.args[0], dtype)
    if isinstance(found, str):
        if not dtype.is_float or found.strip().lstrip("+-") not in ("inf", "nan"):
            raise p.error(node, f'T.{dtype} takes a number, "inf", "-inf" or "nan"')
        return const(float(found), dtype)
    if isinstance(found, Selection):
        found = p.load(node.args[0], found)
    if isinstance(found, Expr):
        return converted(dtype, found)
    if isinstance(found, bool) or (dtype.is_bool and found in (0, 1)):
        return const(int(found), dtype)
    if isinstance(found, (int, float)):
        return p.typed(node.args[0], found, dtype)
    if found is PLAIN_UNDEF:
        return Undef(dtype)
    raise p.error(node, f"T.{dtype} takes a number")


# -- readers ------------------------------------------------------------------------------------------------------


def _undef(p: ExprParser, node: ast.Call, want: DType | None) -> Value:
    args = match_arguments(p.source, node, ("dtype",))
    return Undef(p.dtype(args["dtype"])) if "dtype" in args else PLAIN_UNDEF


def _choice(p: ExprParser, node: ast.Call, want: DType | None, match: Matching) -> tuple[Expr, Expr, Expr]:
    args = match_arguments(p.source, node, ("condition", "true_value", "false_value"), 3)
    test = p.condition(args["condition"])
    a, b = match(p.number(args["true_value"], want), p.number(args["false_value"], want), want)
    return test, a, b


def _select(p: ExprParser, node: ast.Call, want: DType | None) -> Expr:
    return Select(*_choice(p, node, want, unified))


def _if_then_else(p: ExprParser, node: ast.Call, want: DType | None) -> Expr:
    return IfThenElse(*_choice(p, node, want, matched))


def _cast(p: ExprParser, node: ast.Call, want: DType | None) -> Expr:
    # unlike x.astype(…), this is a cast even if the type stays the same
    args = match_arguments(p.source, node, ("dtype", "value"), 2)
    dtype, value = p.type_of_cast(args["dtype"]), p.expr(args["value"])
    lanes = max(dtype.lanes, value.dtype.lanes)
    return Cast(dtype.with_lanes(lanes), broadcast_to(value, lanes))


def _cast_value_first(p: ExprParser, node: ast.Call, want: DType | None) -> Expr:
    args = match_arguments(p.source, node, ("value", "dtype"), 2)
    return converted(p.dtype(args["dtype"]), p.expr(args["value"]))


def _reinterpret(p: ExprParser, node: ast.Call, want: DType | None) -> Expr:
    keywords = [k.arg for k in node.keywords]
    names = ("value", "dtype") if keywords == ["dtype"] and len(node.args) == 1 else ("dtype", "value")
    args = match_arguments(p.source, node, names, 2)
    return Call(p.type_of_cast(args["dtype"]), "reinterpret", (p.argument(args["value"]),))


def _ramp(p: ExprParser, node: ast.Call, want: DType | None) -> Expr:
    args = match_arguments(p.source, node, ("base", "stride", "lanes"), 3)
    base, stride = unified(p.number(args["base"]), p.number(args["stride"]), None)
    if stride.dtype.is_int and base.dtype.is_int:
        stride = cast_to(base.dtype, stride)
    of = scalable.lane(p, args["lanes"], scalable.factor(p, args["lanes"]))
    if of is not None:
        return scalable.at_lane(p, base, stride, of)
    return Ramp(base, stride, p.lanes(args["lanes"]))


def _broadcast(p: ExprParser, node: ast.Call, want: DType | None) -> Expr:
    args = match_arguments(p.source, node, ("value", "lanes"), 2)
    if scalable.lane(p, args["lanes"], scalable.factor(p, args["lanes"])) is not None:
        return p.expr(args["value"], want.scalar if want else None)
    lanes = p.lanes(args["lanes"])
    if lanes < 1:
        raise p.error(args["lanes"], "a broadcast has at least one lane")
    return Broadcast(p.expr(args["value"], want.scalar if want else None), lanes)


def _shuffle(p: ExprParser, node: ast.Call, want: DType | None) -> Expr:
    args = match_arguments(p.source, node, ("vectors", "indices"), 2)
    lists = []
    for name in ("vectors", "indices"):
        given = args[name]
        if not isinstance(given, (ast.List, ast.Tuple)):
            raise p.error(given, "a list is needed")
        lists.append(given.elts)
    return Shuffle(tuple([p.expr(e) for e in lists[0]]), tuple([p.int_constant(e) for e in lists[1]]))


def _let(p: ExprParser, node: ast.Call, want: DType | None) -> Expr:
    """``T.Let(body, where={x: value})``."""
    args = match_arguments(p.source, node, ("expr", "where"), 2)
    where = args["where"]
    if not isinstance(where, ast.Dict) or len(where.keys) != 1 or not isinstance(where.keys[0], ast.Name):
        raise p.error(where, "where={x: value} names one variable")
    name = where.keys[0].id
    like: DType | None = None
    if p.scope.has(name):
        declared = p.scope.find(name)
        like = declared.dtype if isinstance(declared, Var) else None
    value = p.expr(where.values[0], like)
    if like is not None and like is not value.dtype:
        raise p.error(where.values[0], f"{name} has type {like}, its value {value.dtype}")
    var = Var.fresh(name, value.dtype)
    with p.scope.frame():
        p.scope.frames[-1][name] = var
        body = p.expr(args["expr"], want)
    return LetExpr(var, value, body)


def _logic(op: BinaryOp) -> Reader:
    def read(p: ExprParser, node: ast.Call, want: DType | None) -> Expr:
        conditions = spread(p, node.args)
        if len(conditions) < 2 or node.keywords:
            raise p.error(node, "two or more conditions are needed")
        result = p.condition(conditions[0])
        for arg in conditions[1:]:
            other = p.condition(arg)
            result = Binary(op, broadcast_to(result, other.dtype.lanes), broadcast_to(other, result.dtype.lanes))
        return result

    return read


def _not(p: ExprParser, node: ast.Call, want: DType | None) -> Expr:
    args = match_arguments(p.source, node, ("a",), 1)
    return Not(condition(p.number(args["a"])))


def _ceildiv(p: ExprParser, node: ast.Call, want: DType | None) -> Expr:
    args = match_arguments(p.source, node, ("a", "b"), 2)
    a, b = matched(p.number(args["a"], want), p.number(args["b"], want), want)
    return (a + b - as_expr(1, a.dtype)) // b


def _const(p: ExprParser, node: ast.Call, want: DType | None) -> Expr:
    """``T.const(1, "int64")``."""
    args = match_arguments(p.source, node, ("value", "dtype"), 1)
    return p.expr(args["value"], p.dtype(args["dtype"]) if "dtype" in args else None)


def _extreme(which: str) -> Reader:
    """``T.min_value``, ``T.max_value``, ``T.infinity`` of a dtype."""

    def read(p: ExprParser, node: ast.Call, want: DType | None) -> Expr:
        dtype = p.dtype(match_arguments(p.source, node, ("dtype",), 1)["dtype"])
        if dtype.is_float:
            return const(_float_extreme(dtype, which), dtype)
        if which == "infinity" or not (dtype.is_int or dtype.is_bool):
            raise IRError(f"{dtype} has no {which}")
        return const(dtype.min_value if which == "min_value" else dtype.max_value, dtype)

    return read


def _float_extreme(dtype: DType, which: str) -> float:
    return {"infinity": float("inf"), "max_value": largest(dtype), "min_value": -largest(dtype)}[which]


def _address_of(p: ExprParser, node: ast.Call, want: DType | None) -> Expr:
    args = match_arguments(p.source, node, ("buffer_load",), 1)
    found = p.value(args["buffer_load"])
    if isinstance(found, Buffer):  # its first element
        return Call(HANDLE, "address_of", (Load(found, tuple([const(0, e.dtype) for e in found.shape])),))
    if isinstance(found, Var):  # what is stored to a variable by its address, nothing here follows
        return Call(HANDLE, "address_of", (found, device(p)))
    place = p.expr(args["buffer_load"])
    if not isinstance(place, Load):
        raise p.error(node, "T.address_of takes an access, such as A[i]")
    return Call(HANDLE, "address_of", (place,))


def _string(p: ExprParser, node: ast.Call, want: DType | None) -> Expr:
    return StringImm(p.string(match_arguments(p.source, node, ("value",), 1)["value"]))


CALLS: dict[str, Reader] = {
    "undef": _undef, "Select": _select, "if_then_else": _if_then_else, "Cast": _cast, "cast": _cast_value_first,
    "reinterpret": _reinterpret, "Ramp": _ramp, "ramp": _ramp, "Broadcast": _broadcast, "broadcast": _broadcast,
    "Shuffle": _shuffle, "Let": _let, "And": _logic("and"), "Or": _logic("or"), "all": _logic("and"),
    "any": _logic("or"), "Not": _not, "ceildiv": _ceildiv, "min_value": _extreme("min_value"),
    "max_value": _extreme("max_value"), "infinity": _extreme("infinity"), "address_of": _address_of,
    "StringImm": _string, "const": _const, "Call": lambda p, node, want: call_by_name(p, node),
}  # fmt: skip
