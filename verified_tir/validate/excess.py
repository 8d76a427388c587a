"""Excess precision: bfloat16 that is computed in float32, and rounded where it is stored to a parameter.

    B[i] = T.bfloat16 x + y * z    ⟶    B[i] = T.Cast("bfloat16", T.Cast("float32", x) + T.Cast("float32", y) * …)

Compilers for processors without bfloat16 do so (TVM's ``BF16ComputeLegalize``): values between two operations, and in
memory that a function allocates, keep the precision of float32.  That is another program, bit for bit.  Two programs
are equal *up to excess precision* if they are equal once both compute so.  Constants may keep their precision, too, as
far as the text of the first program says what was rounded.

What TVM writes for the casts, shifts of the bits, is read as the casts: they differ on no number, but on some NaNs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final, cast, final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.calls import is_pure
from verified_tir.ir.dtype import BFLOAT16, FLOAT32, DType
from verified_tir.ir.expr import Binary, Broadcast, Call, Cast, Expr, FloatImm, IntImm, LetExpr, Load, Undef, Var
from verified_tir.ir.float_bits import round_to
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.stmt import Allocate, Block, LetStmt, Stmt, Store
from verified_tir.ir.visit import map_children, nodes_of, walk
from verified_tir.validate.memory import Refused

_CONSTANT: Final = re.compile(r"\bbfloat16\(\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*\)")
EXCESS: Final = "bfloat16 is computed in float32, and rounded where it is stored to parameters"


def is_legalised(before: PrimFunc, after: PrimFunc) -> bool:
    """Whether *after* takes bfloat16 apart by its bits, and *before* does not."""
    return _reads_bits(after) and not _reads_bits(before)


def _reads_bits(func: PrimFunc) -> bool:
    return any(
        n.op == "reinterpret" and BFLOAT16 in (n.type.scalar, n.args[0].dtype.scalar) for n in nodes_of(func.body, Call)
    )


def has_bfloat16(func: PrimFunc) -> bool:
    """Whether a function has values of the type."""
    return any(
        (isinstance(n, Expr) and n.dtype.scalar is BFLOAT16) or (isinstance(n, Buffer) and n.dtype.scalar is BFLOAT16)
        for n in walk(func.body)
    )


def written(text: str) -> frozenset[float]:
    """The constants of bfloat16 in the text of a program, before any rounding."""
    return frozenset(map(float, _CONSTANT.findall(text)))


def widened(before: PrimFunc, after: PrimFunc, constants: Collection[float] = ()) -> tuple[PrimFunc, PrimFunc]:
    """Both functions with excess precision.

    A constant of *before* that bfloat16 does not have stands for the nearest one; *after* may have it unrounded.

    :param constants: those of *before*, as they are written; where several stand for one number of bfloat16, none of
        them may be found unrounded, since nothing says where it was.
    :raises Refused: where bfloat16 is passed to a call that is not pure.
    """
    unrounded: dict[float, set[float]] = {}
    for value in constants:
        unrounded.setdefault(round_to(BFLOAT16, value), set()).add(round_to(FLOAT32, value))
    exact = {*unrounded, *[n.value for n in nodes_of(before.body, FloatImm) if n.type is FLOAT32]}
    meant = {min(values): nearest for nearest, values in unrounded.items() if len(values) == 1 and not values & exact}
    return _Widener(before, {}).whole(), _Widener(after, meant).whole()


@final
class _Widener:
    """Rewrites from the top, since types change from the bottom on; ``meant`` are constants to replace."""

    def __init__(self, func: PrimFunc, meant: Mapping[float, float]) -> None:
        self.func, self.meant = func, meant
        self.vars: dict[Var, Var] = {}
        self.buffers = _allocated(func)

    def whole(self) -> PrimFunc:
        return self.func.with_body(cast("Stmt", self.node(self.func.body)))

    def node(self, node: Node) -> Node:
        match node:
            case Expr():
                return self.expr(node)
            case Buffer():
                return self.buffers.get(node, node)
            case LetStmt(var=var, value=value, body=body):
                return LetStmt(self._var(var), self.expr(value), cast("Stmt", self.node(body)))
            case Store(buffer=buffer, value=value, indices=indices, predicate=mask):
                there = self.buffers.get(buffer, buffer)
                new = self.expr(value)
                if there.dtype.scalar is BFLOAT16:
                    new = Cast(value.dtype, new)
                return Store(there, new, tuple(map(self.expr, indices)), None if mask is None else self.expr(mask))
        return map_children(node, self.node)

    def _var(self, var: Var) -> Var:
        if var.dtype.scalar is not BFLOAT16:
            return var
        return self.vars.setdefault(var, Var.fresh(var.name, _wide(var.dtype)))

    def expr(self, e: Expr) -> Expr:
        """The expression, of type float32 if its type was bfloat16."""
        bits = _of_bits(e)
        if bits is not None:
            return self.expr(bits)
        match e:
            case FloatImm(type=t, value=value) if t is BFLOAT16:
                return FloatImm(FLOAT32, value)
            case FloatImm(type=t, value=value) if t is FLOAT32:
                return FloatImm(FLOAT32, self.meant.get(value, value))
            case Undef(type=t):
                return Undef(_wide(t))
            case Var() if e.dtype.scalar is BFLOAT16:
                return self.vars[e] if e in self.vars else Cast(_wide(e.dtype), e)
            case Load(buffer=buffer, indices=indices, predicate=mask):
                there = self.buffers.get(buffer, buffer)
                new = Load(there, tuple(map(self.expr, indices)), None if mask is None else self.expr(mask))
                return Cast(_wide(e.dtype), new) if new.dtype.scalar is BFLOAT16 else new
            case Cast(type=t, value=value):
                inner = self.expr(value)
                return inner if inner.dtype is _wide(t) else Cast(_wide(t), inner)
            case Call(op="reinterpret", type=t, args=(value,)):
                inner = self.expr(value)
                inner = inner if inner.dtype is value.dtype else Cast(value.dtype, inner)
                read = replace(e, args=(inner,))
                return Cast(_wide(t), read) if t.scalar is BFLOAT16 else read
            case Call(type=t, op=op, args=args):
                if not is_pure(op):
                    if any(a.dtype.scalar is BFLOAT16 for a in (e, *args)):
                        raise Refused(f"bfloat16 is passed to the call {op}, of which nothing is known")
                    return e
                return Call(_wide(t), op, tuple(map(self.expr, args)))
            case LetExpr(var=var, value=value, body=body):
                return LetExpr(self._var(var), self.expr(value), self.expr(body))
        return map_children(e, self.node)


def _wide(dtype: DType) -> DType:
    return FLOAT32.with_lanes(dtype.lanes) if dtype.scalar is BFLOAT16 else dtype


def _allocated(func: PrimFunc) -> dict[Buffer, Buffer]:
    """The views of blocks that the function allocates, if all of one are of bfloat16, in float32."""
    made = [n.buffer for n in nodes_of(func.body, Allocate)]
    made += [b for n in nodes_of(func.body, Block) for b in n.alloc_buffers]
    views = dict.fromkeys(n for n in walk(func.body) if isinstance(n, Buffer))
    found: dict[Buffer, Buffer] = {}
    for buffer in dict.fromkeys(made):
        over = [view for view in views if view.data is buffer.data]
        if buffer.dtype.scalar is BFLOAT16 and all(view.dtype is buffer.dtype for view in over):
            wide = _wide(buffer.dtype)
            data = Buffer.declare(buffer.name, (1,), wide, scope=buffer.scope).data
            found.update((view, replace(view, data=data, dtype=wide)) for view in dict.fromkeys([buffer, *over]))
    return found


# ------------------------------------------------------------------------------------------------------- casts by bits


def _of_bits(e: Expr) -> Expr | None:
    """What is cast where TVM shifts bits: bfloat16 to float32, or back with rounding to the nearest, ties to even."""
    match e:
        case Call(
            op="reinterpret", type=t, args=(Binary(op="shl", a=Cast(value=Call(op="reinterpret") as read), b=by),)
        ):
            (x,) = read.args
            if t.scalar is FLOAT32 and x.dtype.scalar is BFLOAT16 and _is(by, 16):
                return x
        case Call(op="reinterpret", type=t, args=(Cast(value=Binary(op="shr", a=Binary(op="add") as sum_, b=by)),)):
            if t.scalar is BFLOAT16 and _is(by, 16):
                return _rounded(sum_)
    return None


def _rounded(e: Binary) -> Expr | None:
    """The float32 in ``bits + ((bits >> 16 & 1) + 32767)``."""
    match e.a, e.b:
        case Call(op="reinterpret", args=(x,)) as bits, Binary(op="add", a=Binary(op="bitand", a=odd, b=one), b=half):
            if not (x.dtype.scalar is FLOAT32 and _is(one, 1) and _is(half, 0x7FFF) and isinstance(odd, Binary)):
                return None
            return x if odd.op == "shr" and odd.a is bits and _is(odd.b, 16) else None
    return None


def _is(e: Expr, value: int) -> bool:
    inner = e.value if isinstance(e, Broadcast) else e
    return isinstance(inner, IntImm) and inner.value == value
