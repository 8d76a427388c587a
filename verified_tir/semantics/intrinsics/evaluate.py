"""Evaluators of templates: one for Python scalars, one for numpy arrays.

Both translate a template into a Python function with one assignment for each step.  The interpreter uses the first; the
second is for many arguments at once.  Neither defines anything: the tests hold them, bit for bit, to what the
interpreter makes of the expanded expression.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import COMPARE_OPS, Binary, Call, Cast, Expr, FloatImm, IntImm, Select
from verified_tir.ir.numpy_types import numpy_dtype
from verified_tir.semantics.intrinsics.array_fma import fma_float32, fma_float64
from verified_tir.semantics.intrinsics.expansion import steps, template
from verified_tir.semantics.operators import binary_operation, cast_operation
from verified_tir.semantics.rounding import fma_operation, rounder
from verified_tir.semantics.values import Operation

_SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "bitand": "&", "bitor": "|", "bitxor": "^", "shl": "<<",
    "shr": ">>", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip
_FORMATS = {
    ("int", 32): "<i", ("int", 64): "<q", ("uint", 32): "<I", ("uint", 64): "<Q", ("float", 32): "<f",
    ("float", 64): "<d",
}  # fmt: skip
Constant = Callable[[object], str]
"""Puts an object into the namespace of the function and gives its name there."""
Step = Callable[[Expr, list[str], Constant], str]
"""One step as Python text, from the texts of its operands."""


@cache
def scalar_operation(op: str, dtype: DType) -> Operation:
    """The function on Python numbers that the expansion of ``op`` on the scalar type ``dtype`` computes."""
    return _translated(op, dtype, _scalar_step)


@cache
def array_operation(op: str, dtype: DType) -> Callable[..., NDArray[Any]]:
    """The same function on numpy arrays of ``dtype`` (one shape, at least one dimension), element by element."""
    compute = _translated(op, dtype, _array_step)

    def quietly(*args: NDArray[Any]) -> NDArray[Any]:
        with np.errstate(all="ignore"):
            result: NDArray[Any] = compute(*args)
        return result

    return quietly


def _translated(op: str, dtype: DType, step: Step) -> Operation:
    """The template as a Python function, step by step."""
    parameters, value = template(op, dtype)
    names: dict[Expr, str] = {p: p.name for p in parameters}
    space: dict[str, Any] = {}

    def constant(what: object) -> str:
        name = f"c{len(space)}"
        space[name] = what
        return name

    lines = [f"def computed({', '.join(names.values())}):"]
    for node in steps(value):
        if node not in names:
            text = step(node, [names[o] for o in _operands(node)], constant)
            if isinstance(node, (IntImm, FloatImm)):
                names[node] = text
            else:
                names[node] = f"t{len(names)}"
                lines.append(f"    {names[node]} = {text}")
    lines.append(f"    return {names[value]}")
    exec("\n".join(lines), space)
    result: Operation = space["computed"]
    return result


def _operands(node: Expr) -> list[Expr]:
    match node:
        case Binary(a=a, b=b):
            return [a, b]
        case Select(condition=condition, true_value=a, false_value=b):
            return [condition, a, b]
        case Cast(value=a):
            return [a]
        case Call(args=args):
            return list(args)
    return []


# ---------------------------------------------------------------------------------------------------------- scalars


def _scalar_step(node: Expr, operands: list[str], constant: Constant) -> str:
    """Python's own operators where they are the interpreter's; its functions elsewhere."""
    match node:
        case IntImm(value=value) | FloatImm(value=value):
            return constant(value)
        case Binary(op=op) if op in COMPARE_OPS or op.startswith("bit"):
            return f"{operands[0]} {_SYMBOLS[op]} {operands[1]}"
        case Binary(op="add" | "sub" | "mul" as op) if node.dtype.is_float:
            text = f"{operands[0]} {_SYMBOLS[op]} {operands[1]}"
            return text if node.dtype.bits == 64 else f"{constant(rounder(node.dtype))}({text})"
        case Select():
            return f"{operands[1]} if {operands[0]} else {operands[2]}"
    return f"{constant(_scalar_function(node))}({', '.join(operands)})"


def _scalar_function(node: Expr) -> Operation:
    match node:
        case Binary(op=op):
            return binary_operation(op, node.dtype)
        case Cast(type=target, value=a):
            return cast_operation(a.dtype, target)
        case Call(op="fma"):
            return fma_operation(node.dtype)
        case Call(op="abs"):
            return abs
        case Call(op="sqrt"):
            narrow = rounder(node.dtype)
            return lambda a: narrow(math.sqrt(a)) if a >= 0.0 else math.nan
        case Call(op="reinterpret", args=(a,)):
            there, back = (struct.Struct(_FORMATS[t.code, t.bits]) for t in (a.dtype, node.dtype))
            return lambda a: back.unpack(there.pack(a))[0]
    raise AssertionError(f"{type(node).__name__} is not a step of an expansion")


# ----------------------------------------------------------------------------------------------------------- arrays


def _array_step(node: Expr, operands: list[str], constant: Constant) -> str:
    """numpy's operators: integers wrap, floats round to their type."""
    name = numpy_dtype(node.dtype)
    match node:
        case IntImm(value=value) | FloatImm(value=value):
            return constant(name.type(value))
        case Binary(op=op):
            return f"{operands[0]} {_SYMBOLS[op]} {operands[1]}"
        case Select():
            return f"{constant(np.where)}({', '.join(operands)})"
        case Cast():
            return f"{operands[0]}.astype({constant(name)})"
        case Call(op="reinterpret"):
            return f"{operands[0]}.view({constant(name)})"
        case Call(op="fma"):
            return f"{constant(fma_float32 if node.dtype.bits == 32 else fma_float64)}({', '.join(operands)})"
        case Call(op="sqrt" | "abs" as op):
            return f"{constant(np.sqrt if op == 'sqrt' else np.abs)}({operands[0]})"
    raise AssertionError(f"{type(node).__name__} is not a step of an expansion")
