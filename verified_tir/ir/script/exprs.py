"""Expressions of the text.

:meth:`ExprParser.value` reads whatever an expression may stand for (a literal without a type, a buffer, a dtype, …);
:meth:`ExprParser.expr` insists on a typed expression.  Calls ``T.name(…)`` are looked up in ``calls.CALLS``.
"""

from __future__ import annotations

import ast
import difflib
import operator
from collections.abc import Callable

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import (
    Binary,
    BinaryOp,
    Call,
    Cast,
    CompareOp,
    Expr,
    IfThenElse,
    Load,
    LogicOp,
    Not,
    Ramp,
    as_expr,
    binary,
)
from verified_tir.ir.node import IRError
from verified_tir.ir.script.dtypes import dtype_named, is_dtype_name
from verified_tir.ir.script.linear import constant_difference
from verified_tir.ir.script.scope import Scope
from verified_tir.ir.script.source import Located, ScriptError, Source
from verified_tir.ir.script.values import (
    PLAIN_UNDEF,
    Plain,
    PlainUndef,
    Selection,
    Slice,
    Value,
    broadcast_to,
    checked_literal,
    condition,
    typed,
    unified,
)

_BINARY: dict[type[ast.operator], BinaryOp] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "floormod",
    ast.LShift: "shl", ast.RShift: "shr", ast.BitAnd: "bitand", ast.BitOr: "bitor", ast.BitXor: "bitxor",
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], CompareOp] = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip
_PLAIN: dict[str, Callable[[int | float, int | float], int | float]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "floordiv": operator.floordiv, "floormod": operator.mod, "eq": operator.eq, "ne": operator.ne,
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
_PLAIN_BITS: dict[str, Callable[[int, int], int]] = {
    "bitand": operator.and_, "bitor": operator.or_, "bitxor": operator.xor, "shl": operator.lshift,
    "shr": operator.rshift,
}  # fmt: skip


class ExprParser:
    """Reads expressions in the light of the names in scope."""

    def __init__(self, source: Source, scope: Scope, aliases: frozenset[str], functions: dict[str, DType]) -> None:
        self.source = source
        self.scope = scope
        self.aliases = aliases
        """Names of the namespace ``T``."""
        self.functions = functions
        """Functions of the text that may be called, with the type each returns."""
        self.opaque_depth = 0
        """Above zero where an unknown call may stand: in an expression statement, and inside opaque calls."""

    # -- errors ---------------------------------------------------------------------------------------------------

    def error(self, place: Located, message: str) -> ScriptError:
        """A mistake at ``place``."""
        return self.source.error(place, message)

    def unknown_name(self, place: Located, name: str) -> ScriptError:
        """The mistake of a name that is not in scope, with the nearest one that is."""
        near = difflib.get_close_matches(name, self.scope.names(), 1)
        return self.error(place, f"unknown name {name}" + (f"; did you mean {near[0]}?" if near else ""))

    # -- the two questions ----------------------------------------------------------------------------------------

    def value(self, node: ast.expr, want: DType | None = None) -> Value:
        """Whatever the expression stands for; ``want`` is the type that the place prefers."""
        try:
            return self._value(node, want)
        except ScriptError:
            raise
        except IRError as e:
            raise self.error(node, str(e)) from None
        except (OverflowError, ZeroDivisionError, ValueError) as e:
            raise self.error(node, f"the constant has no value: {e}") from None

    def expr(self, node: ast.expr, want: DType | None = None) -> Expr:
        """The expression, typed; plain literals take the wanted type."""
        return self.typed(node, self.number(node, want), want)

    def typed(self, node: ast.expr, value: Expr | Plain, want: DType | None = None) -> Expr:
        """A value that was read at ``node`` as an expression."""
        try:
            return typed(value, want)
        except IRError as e:
            raise self.error(node, str(e)) from None

    def number(self, node: ast.expr, want: DType | None = None) -> Expr | Plain:
        """An expression, or a literal that has yet to take its type."""
        found = self.value(node, want)
        if isinstance(found, Selection):
            return self.load(node, found)
        if isinstance(found, (Expr, int, float, PlainUndef)):
            return found
        raise self.error(node, f"{_kind(found)} is used where a number is needed")

    def condition(self, node: ast.expr) -> Expr:
        """A bool expression."""
        try:
            return condition(self.number(node))
        except ScriptError:
            raise
        except IRError as e:
            raise self.error(node, str(e)) from None

    def int_constant(self, node: ast.expr) -> int:
        """A constant integer: a number of lanes, an axis."""
        found = self.value(node)
        if isinstance(found, Expr):
            constant = constant_difference(found, as_expr(0)) if found.dtype.is_int else None
            if constant is not None:
                return constant
        if isinstance(found, int) and not isinstance(found, bool):
            return found
        raise self.error(node, "a constant integer is needed")

    def string(self, node: ast.expr) -> str:
        """A string literal."""
        found = self.value(node)
        if not isinstance(found, str):
            raise self.error(node, "a string is needed")
        return found

    def dtype(self, node: ast.expr) -> DType:
        """A dtype: ``"float32"``, ``T.float32``, ``A.dtype``."""
        found = self.value(node)
        if isinstance(found, DType):
            return found
        if not isinstance(found, str):
            raise self.error(node, 'a dtype is needed, such as "float32"')
        try:
            return dtype_named(found)
        except IRError as e:
            raise self.error(node, str(e)) from None

    # -- dispatch -------------------------------------------------------------------------------------------------

    def _value(self, node: ast.expr, want: DType | None) -> Value:
        match node:
            case ast.Constant(value=v):
                if v is None or isinstance(v, str):
                    return v
                if isinstance(v, (bool, int, float)):
                    return checked_literal(v)
            case ast.Name(id=name):
                return self._name(node, name)
            case ast.BinOp():
                return self._arithmetic(node, want)
            case ast.UnaryOp():
                return self._unary(node, want)
            case ast.BoolOp(op=op, values=values):
                return self._logic("and" if isinstance(op, ast.And) else "or", values)
            case ast.Compare():
                return self._comparison(node)
            case ast.IfExp(test=c, body=a, orelse=b):
                test = self.condition(c)
                return IfThenElse(test, *unified(self.number(a, want), self.number(b, want), want))
            case ast.Subscript():
                return self._subscript(node)
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                return tuple([self.value(e) for e in elts])
            case ast.Attribute():
                return self._attribute(node)
            case ast.Call():
                return self._call(node, want)
        raise self.error(node, f"{type(node).__name__} has no meaning in an expression of TVMScript")

    def _name(self, node: ast.expr, name: str) -> Value:
        try:
            return self.scope.find(name)
        except KeyError:
            raise self.unknown_name(node, name) from None

    # -- operators ------------------------------------------------------------------------------------------------

    def _arithmetic(self, node: ast.BinOp, want: DType | None) -> Value:
        a, b = self.number(node.left, want), self.number(node.right, want)
        if isinstance(node.op, ast.Pow):
            x, y = unified(a, b, want)
            return Call(x.dtype, "pow", (x, y))
        op = _BINARY.get(type(node.op))
        if op is None:
            raise self.error(node, f"the operator {type(node.op).__name__} has no meaning in TVMScript")
        return self.binary(op, a, b, want)

    def binary(self, op: BinaryOp, a: Expr | Plain, b: Expr | Plain, want: DType | None = None) -> Expr | Plain:
        """``a op b`` with the operators' habits: literals fold and take types, ``/`` of integers truncates.

        :raises IRError: if the operands do not fit together.
        """
        if isinstance(a, (int, float)) and isinstance(b, (int, float)):
            return _fold_plain(op, a, b)
        x, y = unified(a, b, want)
        if op == "div" and x.dtype.is_int:
            return Binary("truncdiv", x, y)
        return binary(op, x, y)

    def _unary(self, node: ast.UnaryOp, want: DType | None) -> Value:
        a = self.number(node.operand, want)
        match node.op:
            case ast.Not():
                return (not a) if isinstance(a, bool) else Not(condition(a))
            case ast.UAdd():
                return a
            case ast.USub():
                if isinstance(a, (int, float)):
                    return -a
                return -typed(a, want)
            case _:
                if isinstance(a, int) and not isinstance(a, bool):
                    return ~a
                x = typed(a, want)
                return Not(x) if x.dtype.is_bool else Call(x.dtype, "bitwise_not", (self.checked_int(x),))

    @staticmethod
    def checked_int(x: Expr) -> Expr:
        """The expression, which must be an integer.

        :raises IRError: if it is none.
        """
        if not x.dtype.is_int:
            raise IRError(f"an integer is needed, not {x.dtype}")
        return x

    def _logic(self, op: LogicOp, nodes: list[ast.expr]) -> Expr:
        result = self.condition(nodes[0])
        for node in nodes[1:]:
            other = self.condition(node)
            result = Binary(op, broadcast_to(result, other.dtype.lanes), broadcast_to(other, result.dtype.lanes))
        return result

    def _comparison(self, node: ast.Compare) -> Value:
        operands = [self.number(n) for n in (node.left, *node.comparators)]
        found: list[Expr | Plain] = []
        for k, how in enumerate(node.ops):
            op = _COMPARE.get(type(how))
            if op is None:
                raise self.error(node, f"the comparison {type(how).__name__} has no meaning in TVMScript")
            found.append(self.binary(op, operands[k], operands[k + 1]))
        if len(found) == 1:
            return found[0]
        result = condition(found[0])
        for c in found[1:]:
            result = Binary("and", result, condition(c))
        return result

    # -- buffers --------------------------------------------------------------------------------------------------

    def _subscript(self, node: ast.Subscript) -> Value:
        base = self.value(node.value)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if isinstance(base, Buffer):
            return Selection(base, self.indices(base, parts))
        if isinstance(base, tuple) and len(parts) == 1:
            k = self.int_constant(parts[0])
            if not -len(base) <= k < len(base):
                raise self.error(node, f"position {k} lies outside the {len(base)} entries")
            return base[k]
        raise self.error(node, f"{_kind(base)} cannot be indexed")

    def indices(self, buffer: Buffer, parts: list[ast.expr]) -> tuple[Expr | Slice, ...]:
        """What stands between the brackets of an access, one part a dimension."""
        found: list[Expr | Slice] = []
        for part in parts:
            if isinstance(part, ast.Slice):
                found.append(self.slice(part))
            else:
                found.append(self.expr(part))
        return tuple(found)

    def slice(self, node: ast.Slice) -> Slice:
        """``start : stop : step``; the step is a constant, and a literal bound takes the type of the other."""
        start = None if node.lower is None else self.number(node.lower)
        stop = None if node.upper is None else self.number(node.upper)
        step = 1 if node.step is None else self.int_constant(node.step)
        place = node.lower or node.upper
        if place is None:
            return Slice(None, None, step)
        try:
            if start is not None and stop is not None:
                return Slice(*unified(start, stop, None), step)
            return Slice(
                None if start is None else typed(start, None), None if stop is None else typed(stop, None), step
            )
        except IRError as e:
            raise self.error(place, str(e)) from None

    def access(self, node: Located, selection: Selection) -> tuple[Expr, ...]:
        """The indices of a load or store; a slice in the last place means lanes."""
        found: list[Expr] = []
        for part in selection.indices:
            found.append(self._lanes(node, part) if isinstance(part, Slice) else part)
        return tuple(found)

    def _lanes(self, node: Located, part: Slice) -> Expr:
        if part.start is None or part.stop is None:
            raise self.error(node, "a slice in an access needs both bounds")
        span = constant_difference(part.stop, part.start)
        if span is None:
            raise self.error(node, "the number of lanes of this slice is not constant")
        if part.step < 1 or span < 1:
            raise self.error(node, "a slice in an access has a positive step and at least one lane")
        lanes = -(-span // part.step)
        return part.start if lanes == 1 else Ramp(part.start, as_expr(part.step, part.start.dtype), lanes)

    def load(self, node: ast.expr, selection: Selection) -> Expr:
        """The selection as a value."""
        try:
            return Load(selection.buffer, self.access(node, selection))
        except ScriptError:
            raise
        except IRError as e:
            raise self.error(node, str(e)) from None

    # -- attributes and calls -------------------------------------------------------------------------------------

    def t_name(self, node: ast.expr) -> str | None:
        """``"axis.remap"`` for ``T.axis.remap``; ``None`` if the node is no name below ``T``."""
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in self.aliases:
                return attr
            case ast.Attribute(value=inner, attr=attr):
                prefix = self.t_name(inner)
                return None if prefix is None else f"{prefix}.{attr}"
        return None

    def _attribute(self, node: ast.Attribute) -> Value:
        name = self.t_name(node)
        if name is not None:
            if is_dtype_name(name):
                return dtype_named(name)
            raise self.error(node, f"T.{name} is no value")
        base = self.value(node.value)
        if isinstance(base, Selection):
            base = self.load(node.value, base)
        match base, node.attr:
            case Buffer(), "data":
                return base.data
            case Buffer(), "elem_offset":
                return base.elem_offset
            case Buffer(), "shape":
                return base.shape
            case Buffer(), "strides":
                return strides_of(base)
            case ((Buffer() | Expr()), "dtype"):
                return base.dtype
        raise self.error(node, f"{_kind(base)} has no attribute {node.attr}")

    def _call(self, node: ast.Call, want: DType | None) -> Value:
        from verified_tir.ir.script.calls import t_call

        name = self.t_name(node.func)
        if name is not None:
            return t_call(self, node, name, want)
        match node.func:
            case ast.Name(id=callee) if callee in self.functions and not self.scope.has(callee):
                return self._function_call(node, callee)
            case ast.Attribute(value=ast.Name(id=module), attr=callee) if not self.scope.has(module):
                return self._function_call(node, callee)
            case ast.Attribute(value=inner, attr="astype"):
                if len(node.args) != 1 or node.keywords:
                    raise self.error(node, "astype takes one dtype")
                return cast(self.dtype(node.args[0]), self.expr(inner))
            case ast.Attribute(value=inner, attr="scope"):
                base = self.value(inner)
                if isinstance(base, Buffer) and not node.args:
                    return base.scope
        raise self.error(node, "only T.name(…), functions of the module and x.astype(…) can be called here")

    def _function_call(self, node: ast.Call, callee: str) -> Expr:
        """A call of another function; a buffer stands for its data variable."""
        ret = self.functions.get(callee, DType("void", 0))
        args: list[Expr] = []
        for arg in node.args:
            args.append(self.argument(arg))
        for keyword in node.keywords:
            if keyword.arg != "dtype":
                raise self.error(keyword.value, "a function is called with positional arguments")
            ret = self.dtype(keyword.value)
        return Call(ret, f"@{callee}", tuple(args))

    def argument(self, node: ast.expr) -> Expr:
        """An argument of an opaque call: an expression, a string, or a buffer (its data variable)."""
        from verified_tir.ir.expr import StringImm

        found = self.value(node)
        match found:
            case Buffer():
                return found.data
            case str():
                return StringImm(found)
            case DType():
                return StringImm(str(found))
            case Selection():
                return self.load(node, found)
            case Expr() | int() | float() | PlainUndef():
                return self.typed(node, found)
        raise self.error(node, f"{_kind(found)} cannot be an argument")


def cast(dtype: DType, value: Expr) -> Expr:
    """``value`` converted to ``dtype``; a scalar dtype keeps the lanes of the value.

    :raises IRError: if the lanes differ.
    """
    if dtype.lanes == 1 and value.dtype.lanes > 1:
        dtype = dtype.with_lanes(value.dtype.lanes)
    return value if value.dtype is dtype else Cast(dtype, broadcast_to(value, dtype.lanes))


def strides_of(buffer: Buffer) -> tuple[Expr, ...]:
    """The strides of a buffer in elements, row-major ones computed from the shape."""
    if buffer.strides or not buffer.shape:
        return buffer.strides
    found = [as_expr(1, buffer.shape[-1].dtype)]
    for extent in reversed(buffer.shape[1:]):
        found.append(binary("mul", *unified(found[-1], extent, None)))
    return tuple(reversed(found))


def _fold_plain(op: str, a: int | float, b: int | float) -> int | float:
    """Two literals combined as Python does."""
    if op in _PLAIN:
        return checked_literal(_PLAIN[op](a, b))
    if isinstance(a, float) or isinstance(b, float):
        raise IRError(f"{op} takes integers")
    if op in ("shl", "shr") and not 0 <= b < 64:
        raise IRError(f"the shift amount {b} is out of range")
    return checked_literal(_PLAIN_BITS[op](a, b))


def _kind(value: Value) -> str:
    """The value in an error message."""
    match value:
        case Buffer(name=name):
            return f"the buffer {name}"
        case Selection():
            return "an access"
        case str():
            return "a string"
        case DType():
            return f"the dtype {value}"
        case None:
            return "None"
        case tuple():
            return "a tuple"
        case Expr():
            return f"an expression of type {value.dtype}"
        case int() | float():
            return "a number"
    return "a thread" if value is not PLAIN_UNDEF else "T.undef()"
