"""The gate of the kernel: rules of exact types, and the kernel's own prover.

A rule is a record of paths, expressions, maps and witnesses.  It is read anew before it is applied, field by field; so
whatever it does later, to whom it belongs or how it compares plays no part.
"""

from __future__ import annotations

from typing import Any, TypeVar

from verified_tir.ir.exact import READERS, Inexact, is_one_of
from verified_tir.ir.exact import exact as record
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.refines import Refines, statement_of
from verified_tir.kernel.rules import RULES
from verified_tir.kernel.step import Rule
from verified_tir.logic.solver import Solver
from verified_tir.logic.verdict_store import VerdictStore

T = TypeVar("T")


def exact_rule(rule: Rule) -> Rule:
    """The rule, of exact types.

    :raises Inexact: for what is not a rule of the kernel, or has a field that is not of its type.
    """
    if not is_one_of(type(rule), RULES):
        raise Inexact(f"a {type(rule).__name__} is not a rule of the kernel")
    return record(rule)


def exact_prover(prover: Prover) -> Prover:
    """The prover, if it, its solver and its store are the kernel's own.

    :raises TypeError: if they are not.
    """
    if type(prover) is not Prover or type(prover.solver) is not Solver or type(prover.solver.store) is not VerdictStore:
        raise TypeError("obligations are proved by the kernel's own prover, solver and store only")
    return prover


def _theorem(value: Any) -> Any:
    try:
        return statement_of(value) and value
    except TypeError as problem:
        raise Inexact(str(problem)) from None


READERS[Refines] = _theorem
