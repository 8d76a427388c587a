"""Expressions as text.

Parentheses stand only where precedence needs them.  An operation that reading would fold (two literals, ``x + 0``) is
written as a call, ``T.Add(x, 0)``, as TVM does.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import assert_never, cast

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.calls import PURE_CALLS
from verified_tir.ir.dtype import BOOL, HANDLE, INT32, VOID, DType, PointerType
from verified_tir.ir.expr import (
    Binary,
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
    StringImm,
    Undef,
    Var,
)
from verified_tir.ir.node import IRError
from verified_tir.ir.script.linear import extent_between, is_stable
from verified_tir.ir.script.literals import LITERAL_BUFFER, LITERAL_DICT, LITERAL_TARGET
from verified_tir.ir.script.names import Names
from verified_tir.ir.script.opaque import ALLREDUCE, NAMELESS, REDUCER, STRUCT_GET, TYPED_FIRST, implied_type
from verified_tir.ir.script.placed import parts as placed_parts
from verified_tir.ir.script.separators import SeparatorNumbering, shown
from verified_tir.ir.script.write_device import device_call, quote, strides_as_layout
from verified_tir.ir.stmt import Annotations, AnnotationValue, Region
from verified_tir.ir.sugar import binary, const
from verified_tir.ir.visit import walk

ATOM = 13
_UNARY = 11
_SIGNS: dict[str, tuple[str, int]] = {
    "or": ("or", 1), "and": ("and", 2), "eq": ("==", 4), "ne": ("!=", 4), "lt": ("<", 4), "le": ("<=", 4),
    "gt": (">", 4), "ge": (">=", 4), "bitor": ("|", 5), "bitxor": ("^", 6), "bitand": ("&", 7), "shl": ("<<", 8),
    "shr": (">>", 8), "add": ("+", 9), "sub": ("-", 9), "mul": ("*", 10), "div": ("/", 10), "floordiv": ("//", 10),
    "floormod": ("%", 10),
}  # fmt: skip
_CALLS: dict[str, str] = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "floordiv": "FloorDiv", "floormod": "FloorMod",
    "truncdiv": "truncdiv", "truncmod": "truncmod", "min": "min", "max": "max", "eq": "EQ", "ne": "NE", "lt": "LT",
    "le": "LE", "gt": "GT", "ge": "GE", "bitand": "bitwise_and", "bitor": "bitwise_or", "bitxor": "bitwise_xor",
    "shl": "shift_left", "shr": "shift_right", "and": "And", "or": "Or",
}  # fmt: skip
_COMPARISONS = 4
_NOT = 3


class ExprWriter:
    """Writes expressions with the names in scope."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.functions: Mapping[str, DType] = {}
        """Functions of the same text, with the type that each returns."""
        self.numbering: SeparatorNumbering = "tvm"
        self.device = False
        """Whether the function is one of a device, in which strides are written as a layout."""
        self.reducers: tuple[Expr, ...] = ()
        """The reducers that attributes around the place name, the one in force last."""
        self.pointer: PointerType | None = None
        """The type of the pointer that the expression is to give, where a let says more than that it is a handle."""
        self.opaque = False
        """Whether the expression stands where an unknown call needs no type."""

    def expr(self, e: Expr, level: int = 0) -> str:
        """The text of ``e``, in parentheses if its sign binds less than ``level``."""
        text, own = self._expr(e)
        return f"({text})" if own < level else text

    def exprs(self, es: tuple[Expr, ...]) -> str:
        """Expressions between commas."""
        return ", ".join([self.expr(e) for e in es])

    def shape(self, es: tuple[Expr, ...]) -> str:
        """Extents as a tuple."""
        return f"({self.expr(es[0])},)" if len(es) == 1 else f"({self.exprs(es)})"

    def _expr(self, e: Expr) -> tuple[str, int]:
        """The text and how strongly its outermost sign binds."""
        opaque, self.opaque = self.opaque, False
        match e:
            case IntImm():
                return _int(e)
            case Binary():
                return self._binary(e)
            case Not(a=a):
                return f"not {self.expr(a, _NOT)}", _NOT
            case Call():
                return self._call(e, opaque), ATOM
        return self._atom(e), ATOM

    def _atom(self, e: Expr) -> str:
        """The text of an expression that needs no parentheses."""
        match e:
            case Var():
                text = self.var(e)
            case FloatImm(type=t, value=v):
                text = f"T.{t}({_float(v)})"
            case StringImm(value=v):
                text = quote(v)
            case Undef(type=t):
                text = f'T.undef(dtype="{t}")'
            case Select(condition=c, true_value=a, false_value=b):
                text = f"T.Select({self.exprs((c, a, b))})"
            case IfThenElse(condition=c, true_value=a, false_value=b):
                text = f"T.if_then_else({self.exprs((c, a, b))})"
            case Cast(type=t, value=v):
                text = f'T.Cast("{t}", {self.expr(v)})'
            case Ramp(base=base, stride=stride, lanes=lanes):
                text = f"T.Ramp({self.exprs((base, stride))}, {lanes})"
            case Broadcast(value=v, lanes=lanes):
                text = f"T.Broadcast({self.expr(v)}, {lanes})"
            case Shuffle(vectors=vectors, indices=indices):
                text = f"T.Shuffle([{self.exprs(vectors)}], {list(indices)})"
            case LetExpr(var=var, value=value, body=body):
                bound = self.expr(value)
                with self.names.let(var) as name:
                    text = f"T.Let({self.expr(body)}, where={{{name}: {bound}}})"
            case Load(buffer=buffer, indices=indices, predicate=None):
                text = f"{self.names.name(buffer)}[{self.exprs(indices) or '()'}]"
            case Load(buffer=buffer, indices=indices, predicate=Expr() as predicate):
                text = f"{self.names.name(buffer)}.vload([{self.exprs(indices)}], predicate={self.expr(predicate)})"
            case _:
                # Expr cannot be sealed for the type checker; the classes above are all there are
                raise IRError(f"{type(e).__name__} cannot be written")
        return text

    def var(self, v: Var) -> str:
        """A variable; a data variable by a buffer over its block."""
        if v in self.names.of:
            return self.names.of[v]
        if v in self.names.blocks:
            return f"{self.names.blocks[v]}.data"
        return self.names.name(v)

    def _binary(self, e: Binary) -> tuple[str, int]:
        """``a + b + c + …``: down the left operands without recursion, as sums may be long."""
        if not _has_sign(e):
            return f"T.{_CALLS[e.op]}({self.exprs((e.a, e.b))})", ATOM
        chain = [e]
        while isinstance(left := chain[-1].a, Binary) and _has_sign(left):
            chain.append(left)
        text, own = self._expr(chain[-1].a)
        for part in reversed(chain):
            sign, level = _SIGNS[part.op]
            # comparisons chain in Python, so one below another stands in parentheses on both sides
            if own < (level + 1 if level == _COMPARISONS else level):
                text = f"({text})"
            text, own = f"{text} {sign} {self.expr(part.b, level + 1)}", level
        return text, own

    # -- calls -----------------------------------------------------------------------------------------------------

    def _call(self, e: Call, opaque: bool) -> str:
        told = device_call(self, e)
        if told is not None:
            return told
        dtype = pointer_text(self.pointer or HANDLE, ".ty") if e.type is HANDLE else f'"{e.type}"'
        self.pointer = None
        if e.op == "reinterpret":
            return f"T.reinterpret({dtype}, {self.exprs(e.args)})"
        if e.op == "ret":
            return f"T.ret({self.exprs(e.args)})"
        if e.op in PURE_CALLS:
            stated = PURE_CALLS[e.op].result == "given" and e.type is not INT32.with_lanes(e.args[0].dtype.lanes)
            return f"T.{e.op}({self.exprs(e.args)}{f', dtype={dtype}' if stated else ''})"
        if e.op in (LITERAL_DICT, LITERAL_TARGET, LITERAL_BUFFER, REDUCER):
            return self._literal(e)
        if e.op == "address_of":
            return f"T.address_of({self.expr(e.args[0])})"
        said = e.op == ALLREDUCE and bool(self.reducers) and e.args[-1:] == self.reducers[-1:]
        args = [self._argument(a) for a in e.args[: len(e.args) - said]]
        if e.op.startswith("@"):
            if e.type is not self.functions.get(e.op[1:], VOID):
                args.append(f"dtype={dtype}")
            return f"Module.{e.op[1:]}({', '.join(args)})"
        if e.op in NAMELESS:
            return f'T.Call("tirx.{e.op}", [{", ".join(args)}], ret_ty="{e.type}")'
        if e.op == STRUCT_GET and len(args) == 4:
            return f"T.{e.op}({', '.join([*args[:3], dtype])})"
        if e.op in TYPED_FIRST:
            args.insert(0, dtype)
        elif e.type is not (implied_type(e.op, e.args) or (HANDLE if opaque else None)):
            args.append(f"dtype={dtype}")
        return f"T.{e.op}({', '.join(args)})"

    def _argument(self, e: Expr) -> str:
        """An argument of an opaque call, where another opaque call may stand."""
        self.opaque = True
        try:
            return self.expr(e)
        finally:
            self.opaque = False

    def operand(self, e: Expr) -> str:
        """An operand of an operation on tiles."""
        return self._argument(e)

    def effect(self, e: Expr) -> str:
        """An expression that is evaluated for its effect."""
        text = self._argument(e)
        return text if isinstance(e, Call) else f"T.evaluate({text})"

    def _literal(self, e: Call) -> str:
        """A dictionary, a target, a buffer or a reducer."""
        match e:
            case Call(op="buffer{}", args=(Var() as data,)):
                return self.names.blocks.get(data, f"{self.var(data)}")
            case Call(op="comm_reducer{}", args=(StringImm(value=combine), *identities)):
                return f"T.comm_reducer({combine}, [{self.exprs(tuple(identities))}])"
        value = json.loads(cast(StringImm, e.args[0]).value)
        if e.op == LITERAL_DICT:
            return repr_double(value)
        if isinstance(value, list):
            return f"T.target({repr_double(value[0])}, host={repr_double(value[1])})"
        return f"T.target({repr_double(value)})"

    # -- buffers ---------------------------------------------------------------------------------------------------

    def place(self, buffer: Buffer, indices: tuple[Expr, ...]) -> str:
        """The target of a store; lanes of constant stride as a slice."""
        parts = [self.expr(i) for i in indices]
        if indices:
            parts[-1] = self._lanes(indices[-1])
        return f"{self.names.name(buffer)}[{', '.join(parts) or '()'}]"

    def _lanes(self, index: Expr) -> str:
        match index:
            case Ramp(base=base, stride=IntImm(value=step), lanes=lanes) if step > 0 and lanes > 1 and is_stable(base):
                stop = _sum(base, step * lanes)
                if stop is not None:
                    text = f"{self.expr(base)}:{self.expr(stop)}"
                    return text if step == 1 else f"{text}:{step}"
        return self.expr(index)

    def region(self, r: Region) -> str:
        """A region: single elements as indices, intervals as slices."""
        parts = []
        for low, extent in zip(r.mins, r.extents, strict=True):
            if extent is const(1, extent.dtype) and extent.dtype is low.dtype:
                parts.append(self.expr(low))
            else:
                parts.append(f"{self.expr(low)}:{self.stop(low, extent)}")
        return f"{self.names.name(r.buffer)}[{', '.join(parts) or '()'}]"

    def stop(self, low: Expr, extent: Expr) -> str:
        """The end of the interval from ``low``: an expression that reading takes apart into this extent."""
        candidates: list[Expr] = []
        match low, extent:
            case IntImm(value=0), _:
                candidates.append(extent)
            case IntImm(value=x), IntImm(value=y) if extent.dtype.min_value <= x + y <= extent.dtype.max_value:
                candidates.append(const(x + y, extent.dtype))
            case _, Binary(op="sub", a=stop, b=start) if start is low:
                candidates.append(stop)
        if low.dtype is extent.dtype:
            if is_stable(low):
                candidates.append(binary("add", low, extent))
            candidates.append(Binary("add", low, extent))
        for c in candidates:
            if c.dtype is low.dtype and extent_between(low, c) is extent:
                return self.expr(c)
        return self.expr(candidates[-1]) if candidates else self.expr(extent)

    def buffer_args(self, b: Buffer, shape: str | None = None, data: bool = False) -> str:
        """The arguments that declare a buffer: shape, dtype, and what is not the default."""
        parts = [shape or self.shape(b.shape), f'"{b.dtype}"']
        if data:
            parts.append(f"data={self.var(b.data)}")
        if b.strides:
            as_layout = self.device and not placed_parts(b.elem_offset)[1]
            shown_strides = strides_as_layout(self, b, data) if as_layout else [f"strides={self.shape(b.strides)}"]
            parts += shown_strides
        offset, layout, address = placed_parts(b.elem_offset)
        if offset is not const(0):
            parts.append(f"elem_offset={self.expr(offset)}")
        inherited = b.data.type.scope if data and isinstance(b.data.type, PointerType) else "global"
        if b.scope != "global" or inherited != "global":
            parts.append(f"scope={quote(b.scope)}")
        if b.axis_separators:
            parts.append(f"axis_separators={shown(b.axis_separators, self.numbering)}")
        if layout:
            parts.append(f"layout={layout}")
        if address:
            parts.append(f"allocated_addr=[{self.exprs(address)}]")
        return ", ".join(parts)

    # -- annotations -----------------------------------------------------------------------------------------------

    def annotations(self, items: Annotations) -> str:
        """Annotations as a dictionary."""
        return "{" + ", ".join([f"{quote(k)}: {self.annotation(v)}" for k, v in items]) + "}"

    def annotation(self, value: AnnotationValue) -> str:
        """One value of an annotation."""
        match value:
            case bool():
                return str(value)
            case int():
                return str(value)
            case float():
                return _plain_float(value)
            case str():
                return quote(value)
            case tuple():
                return "[" + ", ".join([self.annotation(v) for v in value]) + "]"
            case StringImm(value=v):
                return f"T.StringImm({quote(v)})"
            case IntImm(type=t, value=v) if t is INT32:
                return f"T.int32({v})"
            case Expr():
                return self._argument(value)
            case _:
                assert_never(value)


def pointer_text(kind: DType | PointerType, suffix: str = "") -> str:
    """``T.handle``, ``T.handle("float32", "shared")``; with ``suffix`` something of such a variable, as a call."""
    match kind:
        case PointerType(scope="tensormap", element=element) if element is VOID:
            return f"T.TensorMap(){suffix}"
        case PointerType(element=element, scope=scope):
            space = "" if scope == "global" else quote(scope)
            if element is VOID:
                return f"T.handle(storage_scope={space}){suffix}" if space else f"T.handle(){suffix}"
            return f'T.handle("{element}"{", " * bool(space)}{space}){suffix}'
    return f"T.handle(){suffix}" if suffix else "T.handle"


def has_let(e: Expr) -> bool:
    """Whether a let stands in the expression; written twice, it would be read as two."""
    return any(isinstance(n, LetExpr) for n in walk(e))


def _int(e: IntImm) -> tuple[str, int]:
    """An int32 without its type, everything else with it."""
    if e.type is BOOL:
        return f"T.bool({bool(e.value)})", ATOM
    if e.type is INT32:
        return str(e.value), ATOM if e.value >= 0 else _UNARY
    return f"T.{e.type}({e.value})", ATOM


def _float(v: float) -> str:
    """A float literal that reads back as the same float."""
    if math.isnan(v):
        return '"nan"'
    if v in (float("inf"), float("-inf")):
        return '"inf"' if v > 0 else '"-inf"'
    return repr(v)


def _plain_float(v: float) -> str:
    """A float without a type, as annotations have them."""
    if math.isnan(v):
        return "1e400 - 1e400"
    return repr(v) if math.isfinite(v) else "1e400" if v > 0 else "-1e400"


def _has_sign(e: Binary) -> bool:
    """Whether the operation is written as ``a sign b``: there is a sign, and reading it would not fold."""
    if e.op not in _SIGNS or (isinstance(e.a, IntImm) and isinstance(e.b, IntImm) and e.a.type is INT32):
        return False
    return e.op in ("and", "or") or binary(e.op, e.a, e.b) is e


def _sum(base: Expr, k: int) -> Expr | None:
    """``base + k`` if ``k`` fits the type and the sum reads as such."""
    try:
        return binary("add", base, const(k, base.dtype))
    except IRError:
        return None


def repr_double(value: object) -> str:
    """A JSON value as a Python literal with double quotes."""
    match value:
        case dict():
            return "{" + ", ".join([f"{quote(k)}: {repr_double(v)}" for k, v in value.items()]) + "}"
        case list():
            return "[" + ", ".join([repr_double(v) for v in value]) + "]"
        case str():
            return quote(value)
    return repr(value)
