"""Boxes of index points, and questions about all points of a box.

A :class:`Box` is ``0 ≤ xₖ < extentₖ``.  :func:`holds` asks whether a condition is true throughout a box: by evaluating
it at every point if the box is constant and small, else by Z3.  Searches are believed only after an answer from here,
and even then the kernel proves its own obligations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, final

import numpy as np

from verified_tir.index.evaluate import Grid, NotEvaluable, UnsafeIndex, evaluate, open_grid
from verified_tir.ir.dtype import BOOL
from verified_tir.ir.expr import TRUE, Binary, Expr, IntImm, Var
from verified_tir.ir.node import Node
from verified_tir.ir.poly import as_poly, render
from verified_tir.ir.sugar import all_of, const
from verified_tir.ir.visit import free_vars, rewrite, walk
from verified_tir.logic.model import Model
from verified_tir.logic.names import has_bits
from verified_tir.logic.verdict import Proved, Refuted, Unknown

if TYPE_CHECKING:
    from verified_tir.index.simplify import Simplifier
    from verified_tir.logic.solver import Solver

GRID_LIMIT = 1 << 15
"""Boxes of at most this many points are checked point by point."""
LAST_LIMIT = 1 << 20
"""Boxes of at most this many points are checked point by point where Z3 does not decide."""

BUDGET = 600_000
"""Z3's resources for one question: a fraction of a second where it does not find an answer."""

DIVISIONS = frozenset({"floordiv", "floormod", "truncdiv", "truncmod"})


@final
@dataclass(frozen=True, slots=True)
class Box:
    """The points with ``0 ≤ vars[k] < extents[k]``."""

    vars: tuple[Var, ...]
    extents: tuple[Expr, ...]

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The extents as numbers, if all are constant (negative ones count as 0)."""
        found = tuple(max(0, e.value) for e in self.extents if isinstance(e, IntImm))
        return found if len(found) == len(self.extents) else None

    @property
    def small(self) -> tuple[int, ...] | None:
        """The constant shape of a box with few points."""
        shape = self.shape
        return shape if shape is not None and prod(shape) <= GRID_LIMIT else None

    @property
    def enumerable(self) -> bool:
        """Whether the box is constant and not too large to enumerate where nothing else helps."""
        shape = self.shape
        return shape is not None and prod(shape) <= LAST_LIMIT

    @property
    def ranges(self) -> dict[Var, tuple[Expr, Expr]]:
        """(min, extent) of each variable."""
        return {v: (const(0, v.dtype), e) for v, e in zip(self.vars, self.extents, strict=True)}

    def conditions(self) -> list[Expr]:
        """That the variables are in the box."""
        return self.contains(self.vars)

    def contains(self, point: Sequence[Expr]) -> list[Expr]:
        """That ``point`` is in the box."""
        found: list[Expr] = []
        for value, extent in zip(point, self.extents, strict=True):
            found += [value >= 0, value < extent]
        return found

    def at_least_zero(self) -> list[Expr]:
        """That no symbolic extent is negative."""
        return [e >= 0 for e in self.extents if not isinstance(e, IntImm)]

    def grid(self) -> dict[Var, Grid]:
        """The variables at every point of a constant box."""
        shape = self.shape
        assert shape is not None
        return dict(zip(self.vars, open_grid(shape), strict=True))

    def at(self, values: Mapping[Var, int]) -> Box:
        """The box with symbols replaced by numbers; extents that are not index arithmetic stay."""
        made = [evaluate([e], values)[0] for e in self.extents]
        return Box(self.vars, tuple(const(int(m), e.dtype) for m, e in zip(made, self.extents, strict=True)))

    def symbols(self, *exprs: Expr) -> list[Var]:
        """Variables of the extents and of ``exprs`` that are not axes of the box."""
        own = set(self.vars)
        return list(dict.fromkeys(v for e in (*self.extents, *exprs) for v in free_vars(e) if v not in own))


@lru_cache(maxsize=1)
def session() -> Solver:
    """The Z3 session that searches share."""
    from verified_tir.logic.solver import Solver

    return Solver(budget=BUDGET)


def holds(
    box: Box, goal: Expr, given: Iterable[Expr] = (), simplifier: Simplifier | None = None
) -> Proved | Refuted | Unknown:
    """Whether ``goal`` is true, and divides by nothing that is zero, at every point of the box where ``given`` is.

    A refutation's model is keyed by :func:`spelling`.  Small constant boxes are decided by evaluation.
    A ``simplifier`` may propose what quotients by symbols are (:func:`without_divisions`).
    """
    given = tuple(given)
    if box.small is not None and not box.symbols(goal, *given):
        return _enumerated(box, goal, given)
    conditions = [*box.conditions(), *given]
    if simplifier is not None and symbolic_divisors(goal):
        lemmas, divided = without_divisions(goal, simplifier)
        if lemmas and isinstance(proves(conditions, all_of([*lemmas, divided])), Proved):
            return Proved()
    verdict = proves(conditions, goal)
    if isinstance(verdict, Unknown) and box.enumerable and not box.symbols(goal, *given):
        return _enumerated(box, goal, given)
    return verdict


def _enumerated(box: Box, goal: Expr, given: Sequence[Expr]) -> Proved | Refuted | Unknown:
    """``goal`` at every point of a constant box."""
    try:
        good, known = evaluate([goal, all_of(given)], box.grid())
    except (UnsafeIndex, NotEvaluable) as problem:
        return Unknown(str(problem))
    wrong = np.broadcast_to(known & ~good, box.shape or ())
    if not wrong.any():
        return Proved(0.0, "enumeration")
    point = np.unravel_index(int(wrong.argmax()), wrong.shape)
    return Refuted(Model({spelling(v): int(x) for v, x in zip(box.vars, point, strict=True)}, {}), 0.0, "enumeration")


def without_divisions(goal: Expr, simplifier: Simplifier) -> tuple[list[Expr], Expr]:
    """``goal`` with quotients by symbols replaced by what the simplifier takes them for, and what makes that right.

    If ``0 <= a - b*q < b`` then ``a // b = q`` and ``a % b = a - b*q``.  These lemmas are polynomial, which is far
    easier for a solver than a quotient by a symbol; they are proved, so the simplifier need not be trusted.
    """
    lemmas: dict[Expr, None] = {}

    def replace(node: Node) -> Node | None:
        match node:
            case Binary(op="floordiv" | "floormod" as op, a=a, b=b) if not isinstance(b, IntImm):
                quotient = render(simplifier.poly(a // b), a.dtype)
                remainder = render(as_poly(a - b * quotient), a.dtype)
                if not symbolic_divisors(remainder):
                    lemmas[remainder >= 0] = lemmas[remainder < b] = None
                    return quotient if op == "floordiv" else remainder
                lemmas[b >= 1] = None
                return None if op == "floordiv" else a - b * (a // b)
        return None

    divided = rewrite(goal, replace)
    return list(lemmas), divided


def is_safe(box: Box, expr: Expr, given: Iterable[Expr] = ()) -> bool:
    """Whether ``expr`` divides by nothing that is zero, at every point of the box where ``given`` is true."""
    if not symbolic_divisors(expr):
        return True
    return isinstance(proves([*box.conditions(), *given], TRUE, (expr,)), Proved)


def symbolic_divisors(expr: Expr) -> list[Expr]:
    """What is divided by in the expression, constants aside."""
    found = (e.b for e in walk(expr) if isinstance(e, Binary) and e.op in DIVISIONS)
    return list(dict.fromkeys(b for b in found if not isinstance(b, IntImm)))


def guarded(expr: Expr) -> Expr:
    """The expression with each divisor ``d`` that is not a constant replaced by ``max(d, 1)``."""

    def guard(node: Node) -> Node | None:
        match node:
            case Binary(op=op, a=a, b=b) if op in DIVISIONS and not isinstance(b, IntImm):
                return Binary(op, a, Binary("max", b, const(1, b.dtype)))
        return None

    return rewrite(expr, guard)


def proves(given: Sequence[Expr], goal: Expr, evaluated: Sequence[Expr] = ()) -> Proved | Refuted | Unknown:
    """Whether ``given`` implies ``goal``, and that no divisor in it or in ``evaluated`` is zero, by Z3.

    Not known of expressions that read memory: extents of ragged loops do.
    """
    from verified_tir.logic import formula
    from verified_tir.semantics.encode import Encoded, Encoder, Safety, Unencodable

    symbols = dict.fromkeys(v for e in (*given, goal, *evaluated) for v in free_vars(e))
    sort = {v: formula.BOOL if v.dtype is BOOL else formula.INT for v in symbols}
    env = {v: Encoded(formula.var(spelling(v), sort[v]), formula.TRUE, False) for v in symbols}
    safety: list[Safety] = []
    encoder = Encoder(dict(env), safety=safety)
    try:
        premises = tuple(Encoder(dict(env)).value(e) for e in given)
        claim = encoder.value(goal)
        for expr in evaluated:
            encoder.value(expr)
    except Unencodable as problem:
        return Unknown(str(problem))
    if any(map(has_bits, (claim, *premises))):  # operations on the bits of a type: beyond it they wrap
        ranges = ((v, v.dtype.min_value, v.dtype.max_value) for v in symbols if v.dtype.is_int)
        premises += tuple(
            [formula.between(formula.integer(low), env[v].value, formula.integer(high + 1)) for v, low, high in ranges]
        )
    nonzero = [
        formula.implies(formula.and_(*s.premises), s.condition) for s in safety if s.kind == "no division by zero"
    ]
    return session().prove(premises, formula.and_(*dict.fromkeys(nonzero), claim))


def spelling(var: Var) -> str:
    """The name of a variable in models."""
    return f"{var.name}.{var.uid}"


def model_values(refuted: Refuted, variables: Iterable[Var]) -> dict[Var, int]:
    """The values that a refutation gives to the variables (0 where it does not care)."""
    return {v: refuted.model.values.get(spelling(v), 0) for v in variables}
