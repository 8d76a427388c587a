"""Shuffles: exchanges of values between the threads of a warp.

    for tx in threads:                                 for tx in threads:
        B[tx] = T.tvm_warp_shuffle_down(m, v, 1, …)  ⟶     sent[tx] = v
                                                       for tx in threads:
                                                           B[tx] = sent[tx + 1]

They are CUDA's.  The value of a lane that does not exist, or that the mask does not name, is undefined; so is all that
a thread gets whose mask has another value than the one that is stored to it.  A lane that ``up`` or ``down`` asks for
beyond ``width`` is the thread's own.  Masks are refused that are not known before the program runs, that threads which
name each other do not share, or that do not name the thread itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import INT32, DType
from verified_tir.ir.expr import (
    TRUE,
    Binary,
    Call,
    Cast,
    Expr,
    IfThenElse,
    IntImm,
    LetExpr,
    Load,
    Select,
    Undef,
    Var,
)
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.stmt import Evaluate, LetStmt, Stmt, Store
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import map_children, nodes_of
from verified_tir.validate.exchanges import ACTIVE, ALLREDUCE, KINDS, has_exchange, temporary
from verified_tir.validate.memory import Mask, Refused
from verified_tir.validate.numbers import fit, operate
from verified_tir.validate.terms import Ids
from verified_tir.validate.thread_loops import Threads, ordered, thread_id

WARP: Final = 32
_MASK: Final = DType("uint", WARP)
_ALL: Final = (1 << WARP) - 1


def masks_of(func: PrimFunc) -> dict[Var, list[Expr]]:
    """By data variable, what is stored to blocks that may hold masks."""
    found: dict[Var, list[Expr]] = {}
    for store in nodes_of(func.body, Store):
        if store.buffer.dtype is _MASK:
            found.setdefault(store.buffer.data, []).append(store.value)
    return found


def _known(expr: Expr, threads: Threads) -> Ids:
    """The value of an expression in each thread, in the order of :func:`thread_id`.

    :raises Refused: if more than the thread's coordinates decides it.
    """
    where: dict[Var, Ids] = {}
    before = 1
    for loop in ordered(threads):
        if not isinstance(loop.min, IntImm):
            raise Refused(f"the least {loop.thread} is not a constant, and an exchange between threads is inside")
        extent = threads.extent(loop)
        where[loop.var] = np.arange(threads.count(), dtype=np.int64) // before % extent + loop.min.value
        before *= extent
    return np.broadcast_to(_number(expr, where), (threads.count(),))


def _number(expr: Expr, where: Mapping[Var, Ids]) -> Ids:
    match expr:
        case IntImm(value=value):
            return np.array([value], dtype=np.int64)
        case Var() if expr in where:
            return where[expr]
        case Binary(op=op, a=a, b=b) if a.dtype.lanes == 1 and (a.dtype.is_int or a.dtype.is_bool):
            x, y = _number(a, where), _number(b, where)
            if op in ("and", "or"):
                return x & y if op == "and" else x | y
            if not (a.dtype.code == "uint" and a.dtype.bits == 64):
                found, trouble = operate(op, a.dtype, x, y, index=a.dtype.code == "int")
                if trouble is None:
                    return found
        case Cast(type=dtype, value=value) if dtype.is_int and dtype.lanes == 1 and dtype.bits < 64:
            return fit(dtype, _number(value, where), index=False)[0]
        case Select(condition=c, true_value=a, false_value=b):
            return np.where(_number(c, where) != 0, _number(a, where), _number(b, where))
    raise Refused("a mask or a lane of a shuffle that more than the thread's coordinates decides")


# ---------------------------------------------------------------------------------------------------------- shuffles


@final
@dataclass(frozen=True, slots=True)
class Shuffles:
    """Takes exchanges out of expressions; ``masks`` are the values that are stored to blocks of masks.

    ``tags`` are the coordinates that threads have: only where all are known is it known which ones are a warp.
    """

    masks: Mapping[Var, Sequence[Expr]]
    tags: frozenset[str]

    def without(self, stmt: Store | LetStmt | Evaluate, threads: Threads) -> tuple[Stmt, list[tuple[Buffer, Stmt]]]:
        """The statement without exchanges in its own expressions; and for each, where it is sent and what sends it.

        :raises Refused: for an exchange that threads may make or not, or whose masks or lanes are not known.
        """
        if {loop.thread for loop in threads.loops} != self.tags:
            raise Refused("an exchange in a warp where not all coordinates of a thread are known")
        sent: list[tuple[Buffer, Stmt]] = []

        def out(node: Node) -> Node:
            return self._expr(node, threads, sent) if isinstance(node, Expr) else node

        match stmt:
            case LetStmt(var=var, value=value, body=body):
                return LetStmt(var, self._expr(value, threads, sent), body), sent
            case _:
                return map_children(stmt, out), sent

    def _expr(self, expr: Expr, threads: Threads, sent: list[tuple[Buffer, Stmt]]) -> Expr:
        if not has_exchange(expr):
            return expr
        match expr:
            case Call(op=op) if op == ACTIVE:
                return _active(threads)
            case IfThenElse(true_value=a, false_value=b) if has_exchange(a) or has_exchange(b):
                raise Refused("an exchange between threads in an arm that some threads may not take")
            case Binary(op="and" | "or", b=b) if has_exchange(b):
                raise Refused("an exchange between threads in an operand that some threads may not evaluate")
            case Call(op=op) if op == ALLREDUCE:
                raise Refused(f"{ALLREDUCE} inside of an expression")
            case LetExpr():
                raise Refused("an exchange between threads inside of a let expression")
            case _:
                pass
        inner = map_children(expr, lambda n: self._expr(n, threads, sent) if isinstance(n, Expr) else n)
        if isinstance(inner, Call) and inner.op in KINDS:
            return self._shuffle(inner, threads, sent)
        return inner

    def _shuffle(self, call: Call, threads: Threads, sent: list[tuple[Buffer, Stmt]]) -> Expr:
        """What a thread gets from another one, once all have sent theirs."""
        match call.args:
            case (mask, value, at, IntImm(value=width), IntImm(value=warp)):
                pass
            case _:
                raise Refused(f"{call.op} with a width that is not a constant")
        if warp != WARP or width not in (1, 2, 4, 8, 16, 32):
            raise Refused(f"{call.op} among {width} lanes of a warp of {warp}; warps have {WARP}")
        if value.dtype is not call.type or value.dtype.lanes != 1:
            raise Refused(f"{call.op} of {value.dtype} that gives {call.type}")
        buffer = temporary("sent", threads.count(), value.dtype)
        me = thread_id(threads)
        sent.append((buffer, threads.around(Store(buffer, value, (me,)))))
        expected = self._mask(mask)
        expected = _with_active(expected, threads)
        source = _source(KINDS[call.op], me, at, width)
        there = _known(source, threads)
        exists = there < threads.count()
        named = _named(_known(expected, threads), there)
        found: Expr = Load(buffer, (source,))
        if not named.all():
            bit = Binary("bitand", Binary("shr", expected, Cast(_MASK, source % WARP)), const(1, _MASK))
            found = IfThenElse(Binary("ne", bit, const(0, _MASK)), found, Undef(value.dtype))
        if not exists.all():
            found = IfThenElse(source < threads.count(), found, Undef(value.dtype))
        if isinstance(mask, Load):  # nothing was stored there yet, perhaps
            found = IfThenElse(Binary("eq", mask, expected), found, Undef(value.dtype))
        return found

    def _mask(self, mask: Expr) -> Expr:
        """The value that a mask has wherever it has one."""
        if not isinstance(mask, Load):
            return mask
        stored = list(dict.fromkeys(self.masks.get(mask.buffer.data, ())))
        if len(stored) != 1:
            raise Refused(f"the mask {mask.buffer.name} of a shuffle is not one value")
        return stored[0]


def _source(kind: str, me: Expr, at: Expr, width: int) -> Expr:
    """The number of the thread whose value a thread gets."""
    at = at if at.dtype is INT32 else Cast(INT32, at)
    lane = me % width
    match kind:
        case "":
            return me - lane + at % width
        case "up":
            inside, other = lane - at >= 0, me - at
        case "down":
            inside, other = lane + at < width, me + at
        case _:
            inside, other = TRUE, me - lane + Binary("bitxor", lane, at)
    most = width if kind == "xor" else WARP
    if not isinstance(at, IntImm) or at.value < 0 or at.value >= most:
        raise Refused(f"a shuffle {kind} by what is not a constant from 0 to {most - 1}")
    return Select(inside, other, me)


def _active(threads: Threads) -> Expr:
    """The mask of all threads in the warp of a thread."""
    full, rest = const(_ALL, _MASK), threads.count() % WARP
    if not rest:
        return full
    last = thread_id(threads) // WARP >= threads.count() // WARP
    return Select(last, const((1 << rest) - 1, _MASK), full)


def _with_active(mask: Expr, threads: Threads) -> Expr:
    if isinstance(mask, Call) and mask.op == ACTIVE:
        return _active(threads)
    if not has_exchange(mask):
        return mask
    return map_children(mask, lambda n: _with_active(n, threads) if isinstance(n, Expr) else n)


def _named(masks: Ids, source: Ids) -> Mask:
    """Whether each thread's mask names the lane that the thread reads.

    :raises Refused: where a mask does not name the thread itself, or threads that name each other have other masks.
    """
    count = masks.size
    numbers = np.arange(count, dtype=np.int64)
    if not (masks >> (numbers % WARP) & 1).all():
        raise Refused("the mask of a shuffle does not name the thread itself")
    for lane in range(WARP):
        other = numbers - numbers % WARP + lane
        asked = (masks >> lane & 1 != 0) & (other < count)
        if (masks[other[asked]] != masks[asked]).any():
            raise Refused("threads that take part in one shuffle have other masks")
    named: Mask = masks >> (source % WARP) & 1 != 0
    return named
