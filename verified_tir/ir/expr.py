"""Expressions: values computed without changing memory.

Each class states its fields and, as ``dtype``, the type of its value.  What an expression *means* is written in
``verified_tir.semantics``; nothing here evaluates anything.  Constructors check types and raise :class:`IRError`.

They are in two files: ``expr_core`` has variables, constants and operators, ``expr_forms`` choices, vectors, loads and
calls.
"""

from __future__ import annotations

from verified_tir.ir.expr_core import (
    ARITHMETIC_OPS,
    COMPARE_OPS,
    FALSE,
    INTEGER_ONLY_OPS,
    LOGIC_OPS,
    TRUE,
    ArithmeticOp,
    Binary,
    BinaryOp,
    Broadcast,
    Cast,
    CompareOp,
    Expr,
    ExprLike,
    FloatImm,
    IntImm,
    LogicOp,
    Not,
    StringImm,
    Undef,
    Var,
    all_of,
    any_of,
    as_expr,
    binary,
    const,
)
from verified_tir.ir.expr_forms import (
    Call,
    IfThenElse,
    LetExpr,
    Load,
    Ramp,
    Select,
    Shuffle,
    access_dtype,
    check_indices,
    check_predicate,
)

__all__ = [
    "ARITHMETIC_OPS", "COMPARE_OPS", "FALSE", "INTEGER_ONLY_OPS", "LOGIC_OPS", "TRUE", "ArithmeticOp", "Binary",
    "BinaryOp", "Broadcast", "Call", "Cast", "CompareOp", "Expr", "ExprLike", "FloatImm", "IfThenElse", "IntImm",
    "LetExpr", "Load", "LogicOp", "Not", "Ramp", "Select", "Shuffle", "StringImm", "Undef", "Var", "access_dtype",
    "all_of", "any_of", "as_expr", "binary", "check_indices", "check_predicate", "const",
]  # fmt: skip
