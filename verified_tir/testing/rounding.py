"""Sums in another order: what may still be demanded of their results.

A theorem with a licence says that results are those of *some* order of the terms of the reductions named in it.  Where
all terms are small natural numbers and nothing but sums, products, minima and maxima is made of them, every order gives
the same real number up to rounding, whose effect is bounded: nothing is cancelled.  Where a program does something else
with floats, or arguments are something else, only what the licence does not reach is compared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Binary, Broadcast, Cast, Expr, FloatImm, Load, Ramp, Shuffle, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import For, If, LetStmt, Stmt, Store, While
from verified_tir.ir.visit import sub_statements, walk
from verified_tir.semantics.interpreter import Outcome, refines
from verified_tir.semantics.interpreter.outcome import Difference

LARGEST: Final = 1000
"""Results beyond it are not compared: in float16 they might round to infinity in one order only."""
UNIT: Final = {16: 2.0**-8, 32: 2.0**-24, 64: 2.0**-53}
"""Half a unit in the last place, by bits; for 16 that of bfloat16."""


def reordered_problem(
    programs: Sequence[PrimFunc],
    names: Collection[str],
    args: Mapping[str, Any],
    first: Outcome,
    second: Outcome,
) -> str | None:
    """What is wrong with results that may be rounded in another order; ``None`` if nothing can be said against them.

    :param programs: the one before, those on the way, the one after.
    :param names: the buffers of the reductions, each of which some of these have.
    """
    differences = refines(first, second)
    if not differences:
        return None
    reached = set().union(*(reached_from(f, names) for f in dict.fromkeys(programs)))
    comparable = plain(programs[0]) and all(natural(a) for a in args.values())
    for d in differences:
        if d.buffer not in reached:
            return str(d)
        if d.after is None:
            return str(d)
        if comparable and not _near(d, first.steps + second.steps, first.arrays[d.buffer].dtype):
            return f"{d}: more than rounding explains"
    return None


def _near(d: Difference, steps: int, dtype: np.dtype[Any]) -> bool:
    x, y = float(d.before), float(d.after)  # type: ignore[arg-type]
    if not (np.isfinite(x) and abs(x) <= LARGEST):
        return True
    bound = UNIT[8 * dtype.itemsize] * 4 * (steps + 4)
    return bool(np.isfinite(y)) and abs(x - y) <= bound * max(abs(x), abs(y))


def natural(value: Any) -> bool:
    """Whether an argument holds small natural numbers only, none of them -0.0."""
    array: npt.NDArray[Any] = np.asarray(value)
    if array.dtype.kind == "b":
        return True
    wide = array.astype(np.float64)
    return bool(np.all((wide >= 0) & (wide <= 8) & (wide == np.floor(wide)) & ~np.signbit(wide)))


def plain(func: PrimFunc) -> bool:
    """Whether a program makes nothing of floats but sums, products, minima, maxima, and no float decides anything."""
    for n in walk(func.body):
        if isinstance(n, Expr) and any(_is_float(e) for e in _operands(n)) and not _is_float(n):
            return False
        if isinstance(n, Expr) and _is_float(n) and not _adds_up(n):
            return False
    return True


def _is_float(e: Expr) -> bool:
    return e.dtype.code != "handle" and e.dtype.scalar.is_float


def _operands(n: Expr) -> list[Expr]:
    match n:
        case Binary(a=a, b=b):
            return [a, b]
        case Cast(value=a):
            return [a]
        case _:
            return []


def _adds_up(n: Expr) -> bool:
    match n:
        case Binary(op=op):
            return op in ("add", "mul", "min", "max")
        case FloatImm(value=v):
            return v >= 0 and not np.signbit(v) and v == int(v) if np.isfinite(v) else v == -np.inf
        case Cast() | Load() | Var() | Ramp() | Broadcast() | Shuffle():
            return True
        case _:
            return n.dtype.lanes == 1 and type(n).__name__ in ("IfThenElse", "Select")


def reached_from(func: PrimFunc, names: Iterable[str]) -> set[str]:
    """Names of the buffers that hold what was computed from buffers of these names."""
    buffers = {n for n in walk(func) if isinstance(n, Buffer)}
    wanted = set(names)
    found = {b.data for b in buffers if b.name in wanted}
    size = -1
    while size != len(found):
        size = len(found)
        _flow(func.body, found, False)
    return {b.name for b in buffers if b.data in found} | wanted


def _flow(stmt: Stmt, found: set[Any], under: bool) -> None:
    """Add what depends on what was found, also by being written or not."""

    def reads(*exprs: Expr) -> bool:
        return any(n in found for e in exprs for n in walk(e) if isinstance(n, Var))

    match stmt:
        case Store(buffer=b, value=value, indices=indices):
            if under or reads(value, *indices):
                found.add(b.data)
        case LetStmt(var=v, value=value):
            if reads(value):
                found.add(v)
        case If(condition=c) | While(condition=c):
            under = under or reads(c)
        case For(min=low, extent=extent):
            under = under or reads(low, extent)
        case _:
            pass
    for inner in sub_statements(stmt):
        _flow(inner, found, under)
