"""Several rules as one step.

    p ⟶ p₁ ⟶ … ⟶ pₙ

Theorem.  Refinement is transitive: if each rule's obligations hold of the program that it is applied to, p ⊑ pₙ.  What
is saved are the licences of marked loops: they are about one program, are asked for every program that a theorem
reaches, and so here for the last one only.

A rule that turns a licence into a fact about the program (:mod:`lanes <verified_tir.kernel.rules.lanes>`) needs it
proved before, and one that changes the relation between parameters is recorded by itself.  Only rules about the serial
meaning of a program are chained: those of :data:`CHAINED`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import final

from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path
from verified_tir.kernel import admissible
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import NoMatch, Question
from verified_tir.kernel.rules.bind import Bind, Inline
from verified_tir.kernel.rules.branch import Decide, Hoist, Introduce, Merge, Reshape, Sink
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.order import Partition
from verified_tir.kernel.rules.reindex import Reindex
from verified_tir.kernel.rules.rewrite import Rewrite as RewriteExpression
from verified_tir.kernel.rules.same import Same
from verified_tir.kernel.rules.unroll import Unroll
from verified_tir.kernel.step import Rewrite, Rule

CHAINED = (
    Bind, Decide, Erase, Hoist, Inline, Introduce, Merge, Partition, Reindex, Reshape, RewriteExpression, Same, Sink,
    Unroll,
)  # fmt: skip


def _common(a: Path | None, b: Path | None) -> Path | None:
    """The statement that holds both; what one rule does below its place moves nothing above or beside it."""
    if a is None or b is None:
        return None
    return tuple(x for x, _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


@final
@dataclass(frozen=True, slots=True)
class Chain:
    """The rules, in order."""

    rules: tuple[Rule, ...]

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewrite | NoMatch:
        func = before
        questions: list[Question] = []
        within: Path | None = ()
        for k, rule in enumerate(self.rules):
            if not isinstance(rule, CHAINED):
                return NoMatch((), f"{type(rule).__name__} is a step of its own")
            step = rule.rewrite(func, entry)
            if isinstance(step, NoMatch):
                return step
            if step.heirs:
                return NoMatch((), "an allocation in another scope is a step of its own")
            inadmissible = admissible.problem(step.after)
            if inadmissible is not None:
                return NoMatch((), f"no theorem is about the result: {inadmissible}")
            questions.extend(step.questions)
            within = _common(within, step.kept) if k else step.kept
            func = step.after
        return Rewrite(func, questions, kept=within)
