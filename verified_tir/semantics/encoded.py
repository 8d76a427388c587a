"""What an expression becomes in the logic: values, conditions, unknowns."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term

_fresh = itertools.count(1)


def fresh(name: str, sort: str) -> Term:
    """A variable of the logic that occurs nowhere else."""
    return f.var(f"{name}!{next(_fresh)}", sort)


class Encoded(NamedTuple):
    """The value of one lane, when it is defined, and whether it is data (not index arithmetic)."""

    value: Term
    defined: Term
    data: bool


@final
@dataclass(frozen=True, slots=True)
class Safety:
    """``condition`` must hold, whenever ``premises`` do, for the evaluation of ``expr`` to have a meaning."""

    kind: str
    expr: Expr
    premises: tuple[Term, ...]
    condition: Term


LoadFunction = Callable[[Buffer, tuple[Term, ...], Term | None], tuple[Term, Term]]
AccessibleFunction = Callable[[Buffer, tuple[Term, ...], Term | None], Term]


class Unencodable(ValueError):
    """An expression that has no value in the logic: an opaque call, a string, a variable out of scope."""
