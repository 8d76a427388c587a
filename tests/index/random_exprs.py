"""Random index expressions, and their value at a point by plain Python (sharing nothing with what is tested)."""

from __future__ import annotations

import random

from verified_tir.ir.expr import Binary, Expr, IfThenElse, IntImm, Not, Select, Var
from verified_tir.ir.sugar import binary, const

ARITHMETIC = ["add", "add", "sub", "mul", "floordiv", "floordiv", "floormod", "floormod", "min", "max"]
COMPARISON = ["eq", "ne", "lt", "le", "gt", "ge"]


class Undefined(Exception):
    """The expression has no value here."""


def value(expr: Expr, at: dict[Var, int]) -> int:
    """The value of an index expression; bools are 0 and 1.

    :raises Undefined: on division by zero where it is evaluated.
    """
    match expr:
        case Var():
            return at[expr]
        case IntImm(value=v):
            return v
        case Binary(op="and", a=a, b=b):
            return value(b, at) if value(a, at) else 0
        case Binary(op="or", a=a, b=b):
            return 1 if value(a, at) else value(b, at)
        case Not(a=a):
            return 1 - value(a, at)
        case IfThenElse(condition=c, true_value=a, false_value=b):
            return value(a, at) if value(c, at) else value(b, at)
        case Select(condition=c, true_value=a, false_value=b):
            x, y = value(a, at), value(b, at)
            return x if value(c, at) else y
        case Binary(op=op, a=a, b=b):
            x, y = value(a, at), value(b, at)
            if y == 0 and op in ("floordiv", "floormod", "truncdiv", "truncmod"):
                raise Undefined
            table = {
                "add": lambda: x + y, "sub": lambda: x - y, "mul": lambda: x * y, "floordiv": lambda: x // y,
                "floormod": lambda: x % y, "truncdiv": lambda: abs(x) // abs(y) * (1 if x * y >= 0 else -1),
                "truncmod": lambda: x - y * (abs(x) // abs(y) * (1 if x * y >= 0 else -1)),
                "min": lambda: min(x, y), "max": lambda: max(x, y), "eq": lambda: x == y, "ne": lambda: x != y,
                "lt": lambda: x < y, "le": lambda: x <= y, "gt": lambda: x > y, "ge": lambda: x >= y,
            }  # fmt: skip
            return int(table[op]())
        case _:
            raise AssertionError(expr)


def draw_int(rng: random.Random, variables: list[Var], depth: int) -> Expr:
    """An integer expression."""
    kind = rng.random()
    if depth == 0 or kind < 0.15:
        return rng.choice(variables) if rng.random() < 0.8 else const(rng.randint(-9, 17))
    if kind < 0.25:
        made = rng.choice([Select, IfThenElse])
        arms = (draw_int(rng, variables, depth - 1), draw_int(rng, variables, depth - 1))
        return made(draw_bool(rng, variables, depth - 1), *arms)
    if kind < 0.45:  # what splitting and fusing leave behind
        x, c = draw_int(rng, variables, depth - 1), rng.choice([2, 3, 4, 8])
        return rng.choice(
            [c * (x // c) + x % c, (c * x + rng.choice(variables)) // c, (x + c - 1) // c * c, x - c * (x // c)]
        )
    op = rng.choice(ARITHMETIC)
    a = draw_int(rng, variables, depth - 1)
    if op in ("floordiv", "floormod"):
        divisor = const(rng.choice([1, 2, 3, 4, 4, 6, 8, -2, -3])) if rng.random() < 0.85 else rng.choice(variables)
        if rng.random() < 0.1:
            op = "truncdiv" if op == "floordiv" else "truncmod"
        return Binary(op, a, divisor)
    if op == "mul":
        other = const(rng.choice([-2, -1, 2, 3, 4, 8])) if rng.random() < 0.8 else rng.choice(variables)
        return binary("mul", a, other)
    return binary(op, a, draw_int(rng, variables, depth - 1))


def draw_bool(rng: random.Random, variables: list[Var], depth: int) -> Expr:
    """A condition."""
    kind = rng.random()
    if depth > 0 and kind < 0.3:
        op = rng.choice(["and", "or"])
        return Binary(op, draw_bool(rng, variables, depth - 1), draw_bool(rng, variables, depth - 1))
    if depth > 0 and kind < 0.4:
        return Not(draw_bool(rng, variables, depth - 1))
    a, b = draw_int(rng, variables, max(0, depth - 1)), draw_int(rng, variables, max(0, depth - 2))
    return Binary(rng.choice(COMPARISON), a, b)
