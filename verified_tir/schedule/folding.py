"""Constants folded where a step has put them in place of loop variables: ``A[1 * 4 + j]`` reads ``A[4 + j]``."""

from __future__ import annotations

from collections.abc import Iterator

from verified_tir.index.fold import computed
from verified_tir.ir.expr import Binary, Expr, IntImm
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.paths import Path, at
from verified_tir.ir.stmt import Stmt
from verified_tir.ir.visit import sub_statements
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.rules.reorder import Reorder
from verified_tir.kernel.rules.rewrite import Edit, ExprPath, Rewrite, expressions
from verified_tir.kernel.step import Rule
from verified_tir.kernel.theorem import Refines, apply


def with_constants_folded(rule: Rule, before: PrimFunc, theorem: Refines, prover: Prover) -> Refines:
    """The theorem after a step, and after another one that folds constants if the step put some in place of loop
    variables; where the kernel does not allow that, they stay as they are."""
    if not isinstance(rule, Reorder) or not any(isinstance(g, IntImm) for link in rule.links for g in link.old_of_new):
        return theorem
    edits = list(_edits_of_new(rule.path, before.body, theorem.after.body))
    together = apply(Rewrite((), tuple(edits)), theorem, prover) if edits else theorem
    if isinstance(together, Refines):
        return together
    for edit in edits:
        found = apply(Rewrite((), (edit,)), theorem, prover)
        theorem = found if isinstance(found, Refines) else theorem
    return theorem


def _edits_of_new(path: Path, before: Stmt, after: Stmt) -> Iterator[Edit]:
    """The edits of the statements that stand where a step was taken, and did not before."""
    if not path:
        yield from _edits(after, ())
        return
    old, new = (sub_statements(at(body, path[:-1])) for body in (before, after))
    for k, stmt in enumerate(new):
        if stmt not in old:
            yield from _edits(stmt, (*path[:-1], k))


def _edits(stmt: Stmt, path: Path) -> Iterator[Edit]:
    """The edits at and below a place."""
    yield from (Edit(path, where, new) for where, new in _within(stmt, ()))
    for k, sub in enumerate(sub_statements(stmt)):
        yield from _edits(sub, (*path, k))


def _within(node: Node, where: ExprPath) -> Iterator[tuple[ExprPath, Expr]]:
    """The largest parts of the expressions of a node that are arithmetic or conditions, and become others."""
    for k, e in enumerate(expressions(node)):
        new = computed(e)
        if new is not e and isinstance(e, Binary) and (e.dtype.is_int or e.dtype.is_bool):
            yield (*where, k), new
        elif new is not e:
            yield from _within(e, (*where, k))
