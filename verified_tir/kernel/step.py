"""The result of a rule before anything of it is proved."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, final

from verified_tir import ir
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import ParameterMap, Question


@final
@dataclass(frozen=True, slots=True)
class Rewrite:
    """What a rule computes: the new program and the questions that must be answered first."""

    after: ir.PrimFunc
    questions: Iterable[Question]
    moved: ParameterMap | None = None
    """The change of a parameter's layout, or of what its padding holds, if the step makes one."""
    reassociated: frozenset[ir.Var] = frozenset()
    """Blocks into which the step sums floats in another order, by licence."""
    heirs: tuple[tuple[ir.Var, ir.Var], ...] = ()
    """Pairs of a new block and one whose reductions go on in it.  A new block is licensed if all that it stands for
    are."""
    assumed: ir.Stmt = ir.SKIP
    """What is assumed of the arguments from now on, in front of both programs."""


class Rule(Protocol):
    """A rule is a value that knows how to rewrite one program."""

    def rewrite(self, before: ir.PrimFunc, entry: Entry) -> Rewrite:
        """The new program with its obligations.

        :raises Misfit: if the rule does not apply.
        """
        ...
