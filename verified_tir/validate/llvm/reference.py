"""The program in the words of machine code: operators that the emitter writes as several instructions.

Four equalities are used.  A transcendental function *is* its expansion (``semantics/intrinsics``).  Where an expansion
multiplies by a power of two, in two steps, it keeps to arguments with which that is ``ldexp`` (``words.scaled``); of
other products this is not true, so it is used of expansions only, and only if the machine has ``ldexp``.  Arithmetic,
square roots and comparisons of 16-bit floats equal those of float32, rounded back: 24 >= 2 * 11 + 2 bits (S. A.
Figueroa, "When is double rounding innocuous?", 1995); so do casts from integers that float32 holds exactly, or that
are far beyond the largest float16.  They are theorems about the program's own meaning, and are applied to it before
it is executed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import COMPARE_OPS, Binary, Call, Cast, Expr, Select
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.visit import nodes_of, rewrite
from verified_tir.semantics.intrinsics import EXPANDED, expand
from verified_tir.semantics.intrinsics.words import as_scaled

_ROUNDED: Final = frozenset({"sqrt", "floor", "ceil", "trunc", "nearbyint"})
_TESTS: Final = frozenset({"isnan", "isinf", "isfinite"})


def scales(func: PrimFunc, text: str) -> bool:
    """Whether a text has ``ldexp`` for products in expansions; a program that calls a function of that name has it not
    from there."""
    return "@llvm.ldexp." in text and not any(call.op == "ldexp" for call in nodes_of(func.body, Call))


def in_machine_words(func: PrimFunc, *, scales: bool) -> PrimFunc:
    """The function with expansions for calls, and float32 for 16-bit floats; its results are the same.

    :param scales: whether expansions multiply by powers of two with ``ldexp``.
    """
    return replace(func, body=rewrite(func.body, partial(_expanded, _scaling if scales else None)))


def _expanded(scaling: Callable[[Node], Node | None] | None, node: Node) -> Node | None:
    match node:
        case Call(op=op, args=args) if op in EXPANDED and args[0].dtype.is_float:
            return rewrite(expand(op, args, scaling), _narrow)
    return _narrow(node)


def _scaling(node: Node) -> Expr | None:
    found = as_scaled(node)
    return None if found is None else Call(found[0].dtype, "ldexp", found)


def _narrow(node: Node) -> Node | None:
    match node:
        case Binary(op=op, a=a, b=b) if _is_narrow(a.dtype):
            if op in ("min", "max"):
                less = Binary("lt" if op == "min" else "gt", _wide(a), _wide(b))
                return Select(less, a, b)
            if op in COMPARE_OPS:
                return Binary(op, _wide(a), _wide(b))
            return Cast(a.dtype, Binary(op, _wide(a), _wide(b)))
        case Call(op="round"):  # LLVM has one name for it
            same = replace(node, op="nearbyint")
            return found if (found := _narrow(same)) is not None else same
        case Call(op=op, args=(x,)) if _is_narrow(x.dtype) and op in _ROUNDED:
            return Cast(x.dtype, replace(node, type=_single(x.dtype), args=(_wide(x),)))
        case Call(op=op, args=(x,)) if _is_narrow(x.dtype) and op in _TESTS:
            return replace(node, args=(_wide(x),))
        case Cast(type=t, value=x) if _is_narrow(t) and _fits(x.dtype, t):
            return Cast(t, Cast(_single(t), x))
        case Cast(type=t, value=x) if _is_narrow(x.dtype) and not t.is_float:
            return Cast(t, _wide(x))
    return None


def _is_narrow(dtype: DType) -> bool:
    return dtype.is_float and dtype.bits == 16


def _fits(source: DType, target: DType) -> bool:
    if source.is_bool:
        return True
    return source.is_int and (source.bits <= 16 or target.code == "float")


def _single(dtype: DType) -> DType:
    return DType("float", 32, dtype.lanes)


def _wide(x: Expr) -> Expr:
    return Cast(_single(x.dtype), x)
