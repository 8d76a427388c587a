"""Expressions of the text: literals, names, operators, accesses, attributes.

Calls ``T.name(…)`` are looked up in ``calls.CALLS``.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import HANDLE, INT32, INT64, DType
from verified_tir.ir.expr import (
    Binary,
    BinaryOp,
    Call,
    CompareOp,
    Expr,
    IfThenElse,
    LetExpr,
    Load,
    LogicOp,
    Not,
    StringImm,
)
from verified_tir.ir.node import IRError
from verified_tir.ir.script import scalable
from verified_tir.ir.script.calls import t_call
from verified_tir.ir.script.computed import formatted, listed
from verified_tir.ir.script.device import SINK, tile_name
from verified_tir.ir.script.dtypes import dtype_named, is_dtype_name
from verified_tir.ir.script.linear import is_pure_value
from verified_tir.ir.script.metadata import Metadata
from verified_tir.ir.script.methods import METHODS
from verified_tir.ir.script.opaque import spread
from verified_tir.ir.script.placed import parts
from verified_tir.ir.script.reader import Reader, kind_of
from verified_tir.ir.script.scalars import is_one_element
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
    converted,
    matched,
    operands_of,
    typed,
    unified,
)
from verified_tir.ir.sugar import as_expr, binary
from verified_tir.ir.visit import walk

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


_OF_TVM = frozenset({"const", "call_intrin", "all", "any"})
"""Functions that texts name by ``tvm.tirx``, too."""


class ExprParser(Reader):
    """Reads expressions by their kind."""

    # -- dispatch -------------------------------------------------------------------------------------------------

    def _value(self, node: ast.expr, want: DType | None) -> Value:
        match node:
            case ast.Constant(value=v):
                if v is None or isinstance(v, str):
                    return v
                if isinstance(v, (bool, int, float)):
                    return checked_literal(v)
            case ast.Name(id=name):
                found = self._name(node, name)
                scalar = isinstance(found, Buffer) and found in self.scalars
                return Load(found, (as_expr(0),)) if isinstance(found, Buffer) and scalar else found
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
                return IfThenElse(test, *matched(self.number(a, want), self.number(b, want), want))
            case ast.Subscript():
                return self._subscript(node)
            case ast.JoinedStr(values=parts):
                return "".join([formatted(self, part) for part in parts])
            case ast.ListComp(elt=element, generators=[ast.comprehension(target=ast.Name(id=name), ifs=[]) as each]):
                return listed(self, element, name, each.iter)
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
        """``a + b + c + …``: down the left operands without recursion, as sums may be long."""
        chain = [node]
        while isinstance(chain[-1].left, ast.BinOp):
            chain.append(chain[-1].left)
        if isinstance(node.op, ast.Add) and isinstance(node.left, (ast.List, ast.ListComp, ast.Tuple)):
            lists = [self.value(node.left), self.value(node.right)]
            if isinstance(lists[0], tuple) and isinstance(lists[1], tuple):
                return (*lists[0], *lists[1])
        result = self.number(chain[-1].left, want)
        for part in reversed(chain):
            with self.computed(part):
                result = self._operation(part, result, self.number(part.right, want), want)
        return result

    def _operation(self, node: ast.BinOp, a: Expr | Plain, b: Expr | Plain, want: DType | None) -> Expr | Plain:
        if isinstance(node.op, ast.Pow):
            x, y = matched(a, b, want)
            if not x.dtype.is_float or x.dtype is not y.dtype:
                raise self.error(node, f"** takes floats of one type, not {x.dtype} and {y.dtype}")
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
        x, y = operands_of(op, a, b, want)
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

    def typing(self, node: ast.expr) -> bool | None:
        """What a comparison of dtypes says, ``A[0].dtype == "float32"``; ``None`` of another expression."""
        match node:
            case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as op], comparators=[right]) if any(
                isinstance(e, ast.Attribute) and e.attr == "dtype" for e in (left, right)
            ):
                same = self.dtype(left) is self.dtype(right)
                return same if isinstance(op, ast.Eq) else not same
        return None

    def _comparison(self, node: ast.Compare) -> Value:
        said = self.typing(node)
        if said is not None:
            return said
        operands = [self.number(n) for n in (node.left, *node.comparators)]
        found: list[Expr | Plain] = []
        for k, how in enumerate(node.ops):
            op = _COMPARE.get(type(how))
            if op is None:
                raise self.error(node, f"the comparison {type(how).__name__} has no meaning in TVMScript")
            left = operands[k]
            if k and isinstance(left, Expr) and any(isinstance(n, LetExpr) for n in walk(left)):
                left = self.number(node.comparators[k - 1])  # written twice, it is read as two
            if k and (left is PLAIN_UNDEF or (isinstance(left, Expr) and not is_pure_value(left))):
                place = node.comparators[k - 1]
                raise self.error(place, "between two comparisons this would be evaluated twice; compare it with and")
            found.append(self.binary(op, left, operands[k + 1]))
        if len(found) == 1:
            return found[0]
        result = condition(found[0])
        for c in found[1:]:
            result = Binary("and", result, condition(c))
        return result

    # -- buffers --------------------------------------------------------------------------------------------------

    def _subscript(self, node: ast.Subscript) -> Value:
        base = self.value(node.value)
        if isinstance(base, Metadata):
            return base.values(self.string(node.slice))
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if isinstance(base, Buffer):
            return Selection(base, self.indices(base, parts))
        if isinstance(base, tuple) and len(parts) == 1:
            k = self.int_constant(parts[0])
            if not -len(base) <= k < len(base):
                raise self.error(node, f"position {k} lies outside the {len(base)} entries")
            return base[k]
        raise self.error(node, f"{kind_of(base)} cannot be indexed")

    def slice(self, buffer: Buffer, node: ast.Slice) -> Expr | Slice:
        """A slice; one with lanes that scale is the lane that is stored."""
        place = node.lower or node.upper
        lanes = scalable.lanes_of_slice(self, node)
        if place is None or node.lower is None or lanes is None:
            return super().slice(buffer, node)
        of = scalable.lane(self, place, lanes)
        step = 1 if node.step is None else self.int_constant(node.step)
        return self.expr(node.lower) if of is None else scalable.at_lane(self, self.expr(node.lower), as_expr(step), of)

    # -- attributes and calls -------------------------------------------------------------------------------------

    def t_name(self, node: ast.expr) -> str | None:
        """``"axis.remap"`` for ``T.axis.remap``; ``None`` if the node is not a name below ``T``."""
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in self.aliases:
                return attr
            case ast.Attribute(value=ast.Name(id="Tx" | "tirx" as name), attr=attr) if not self.scope.has(name):
                return attr if name == "tirx" else tile_name(attr)  # names of TVM that no text needs to import
            case ast.Attribute(value=ast.Name(id="I"), attr="meta_var" as attr) if not self.scope.has("I"):
                return attr
            case ast.Subscript(value=inner, slice=ast.Constant() | ast.JoinedStr() | ast.Name() as operation):
                found = self.value(operation) if self.t_name(inner) == "ptx" else None
                named = found if isinstance(found, str) else '"'
                return None if '"' in named else f'ptx["{named}"]'
            case ast.Attribute(value=inner, attr=attr):
                prefix = self.t_name(inner)
                return None if prefix is None else f"{prefix}.{attr}"
        return None

    def type_of_cast(self, node: ast.expr) -> DType:
        """The type that a cast gives; ``T.handle("float32x4")`` and TVM's ``T.handle().ty`` are pointers."""
        inner = node.value if isinstance(node, ast.Attribute) and node.attr == "ty" else node
        if isinstance(inner, ast.Call) and self.t_name(inner.func) == "handle":
            return HANDLE
        return self.dtype(node)

    def _attribute(self, node: ast.Attribute) -> Value:
        name = self.t_name(node)
        if name is not None:
            if is_dtype_name(name):
                return dtype_named(name)
            if name == SINK:  # where an operator of a device writes what nobody reads
                return Call(HANDLE, SINK, ())
            raise self.error(node, f"T.{name} is not a value")
        match node.value:
            case ast.Call(func=f) if node.attr == "ty" and self.t_name(f) == "handle":  # the type itself
                return HANDLE
        base = self.value(node.value)
        if isinstance(base, Selection):
            base = self.load(node.value, base)
        match base, node.attr:
            case Load(), "source":  # the memory of a scalar
                return base.buffer
            case Buffer(), "source" if is_one_element(base):
                return base
            case Buffer(), "ty":  # TVM keeps layouts in types: A.ty.shape
                return base
            case Expr(), "ty":
                return base.dtype
            case Buffer(), "data":
                return base.data
            case Buffer(), "elem_offset":
                return parts(base.elem_offset)[0]
            case Buffer(), "shape":
                return base.shape
            case Buffer(), "strides":
                return strides_of(base)
            case ((Buffer() | Expr()), "dtype"):
                return base.dtype
        raise self.error(node, f"{kind_of(base)} has no attribute {node.attr}")

    def _call(self, node: ast.Call, want: DType | None) -> Value:
        name = self.t_name(node.func)
        if name is not None:
            return t_call(self, node, name, want)
        match node.func:
            case ast.Name(id=callee) if callee in self.functions and not self.scope.has(callee):
                return self._function_call(node, callee)
            case ast.Attribute(value=ast.Name(id=module), attr=callee) if module != "I" and not self.scope.has(module):
                return self._function_call(node, callee)
            case ast.Attribute(attr=known) if known in _OF_TVM and dotted(node.func) == f"tvm.tirx.{known}":
                return t_call(self, node, known, want)
            case ast.Name(id="len") if len(node.args) == 1 and not node.keywords and not self.scope.has("len"):
                entries = self.value(node.args[0])
                if isinstance(entries, tuple):
                    return len(entries)
            case ast.Attribute(value=inner, attr="astype"):
                if len(node.args) != 1 or node.keywords:
                    raise self.error(node, "astype takes one dtype")
                return converted(self.dtype(node.args[0]), self.expr(inner))
            case ast.Attribute(value=inner, attr=how) if how in METHODS:
                return METHODS[how](self, node, inner)
        raise self.error(node, "only T.name(…), functions of the module and x.astype(…) can be called here")

    def buffer(self, node: ast.expr) -> Buffer:
        """An expression that names a buffer."""
        found = self.value(node)
        if not isinstance(found, Buffer):
            raise self.error(node, f"{kind_of(found)} is not a buffer")
        return found

    def selection(self, buffer: Buffer, indices: ast.expr) -> Selection:
        """The elements of a buffer at a list of indices, or at a single one."""
        parts = indices.elts if isinstance(indices, (ast.List, ast.Tuple)) else [indices]
        return Selection(buffer, self.indices(buffer, list(parts)))

    def mask(self, node: ast.expr | None) -> Expr | None:
        """The predicate of a masked access."""
        return None if node is None else self.expr(node)

    def _function_call(self, node: ast.Call, callee: str) -> Expr:
        """A call of another function; a buffer stands for its data variable."""
        ret = self.functions.get(callee, DType("void", 0))
        args: list[Expr] = []
        for arg in spread(self, node.args):
            args.append(self.argument(arg))
        for keyword in node.keywords:
            if keyword.arg != "dtype":
                raise self.error(keyword.value, "a function is called with positional arguments")
            ret = self.dtype(keyword.value)
        return Call(ret, f"@{callee}", tuple(args))

    def argument(self, node: ast.expr) -> Expr:
        """An argument of an opaque call: an expression, a string, or a buffer (its data variable)."""
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
            case int() if not INT32.min_value <= found <= INT32.max_value:
                return self.typed(node, found, INT64)  # as TVM does
            case Expr() | int() | float() | PlainUndef():
                return self.typed(node, found)
        raise self.error(node, f"{kind_of(found)} cannot be an argument")


def dotted(node: ast.expr) -> str:
    """``"tvm.target.Target"`` for such an expression; the empty string for any other."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=inner, attr=attr):
            prefix = dotted(inner)
            return f"{prefix}.{attr}" if prefix else ""
    return ""


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
