"""Index expressions as Python text, for messages and for the printed form of an index map."""

from __future__ import annotations

from collections.abc import Sequence

from verified_tir.ir.expr import Binary, Cast, Expr, IfThenElse, IntImm, Not, Select, Var

_SIGNS = {
    "or": ("or", 1), "and": ("and", 2),
    "eq": ("==", 4), "ne": ("!=", 4), "lt": ("<", 4), "le": ("<=", 4), "gt": (">", 4), "ge": (">=", 4),
    "bitor": ("|", 5), "bitxor": ("^", 6), "bitand": ("&", 7), "shl": ("<<", 8), "shr": (">>", 8),
    "add": ("+", 9), "sub": ("-", 9), "mul": ("*", 10), "floordiv": ("//", 10), "floormod": ("%", 10),
}  # fmt: skip


def index_text(expr: Expr) -> str:
    """The expression with the fewest parentheses that Python's precedence allows."""
    return _text(expr, 0)


def tuple_text(values: Sequence[int | Expr]) -> str:
    """``[a, b, c]``."""
    return f"[{', '.join(index_text(v) if isinstance(v, Expr) else str(v) for v in values)}]"


def _text(expr: Expr, outer: int) -> str:
    match expr:
        case Var(name=name):
            return name
        case IntImm(value=value):
            return str(bool(value)) if expr.dtype.is_bool else str(value)
        case Binary(op=op, a=a, b=b) if op in _SIGNS:
            sign, level = _SIGNS[op]
            # comparisons do not chain, the others associate to the left
            text = f"{_text(a, level + (level == 4))} {sign} {_text(b, level + 1)}"
            return f"({text})" if level < outer else text
        case Binary(op=op, a=a, b=b):
            return f"{op}({_text(a, 0)}, {_text(b, 0)})"
        case Not(a=a):
            text = f"not {_text(a, 4)}"
            return f"({text})" if outer > 3 else text
        case Select(condition=c, true_value=a, false_value=b):
            return f"select({_text(c, 0)}, {_text(a, 0)}, {_text(b, 0)})"
        case IfThenElse(condition=c, true_value=a, false_value=b):
            return f"if_then_else({_text(c, 0)}, {_text(a, 0)}, {_text(b, 0)})"
        case Cast(type=t, value=value):
            return f"{t}({_text(value, 0)})"
        case _:
            return repr(expr)
