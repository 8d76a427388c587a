"""Find the marked loops that a step could have given a race.

Race freedom is a judgement about one program (``verified_tir.kernel.race_free``): ``build``, ``vtir verify`` and
certificates ask it of the last one.  A schedule asks on the way, so that the step that brings a race is the one that is
refused.  Which loops it asks about is chosen here, and nothing rests on it.

A loop that is the same node as before is not asked about, unless something is no longer assumed.  Nor is one that is
marked as it was if the rule is *quiet*: what the loop runs touches the same elements, or fewer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any, Final

from verified_tir.elaborate.own_memory import owners
from verified_tir.ir.expr import Cast, Expr, Load, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.paths import Path, at
from verified_tir.ir.stmt import Allocate, Assume, For, Stmt
from verified_tir.ir.visit import nodes_of
from verified_tir.kernel.race_free import marked_loops
from verified_tir.kernel.refines import Step
from verified_tir.kernel.rules.bind import Bind, Inline
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.reorder import Reorder
from verified_tir.kernel.rules.rewrite import Rewrite
from verified_tir.kernel.rules.same import Same
from verified_tir.kernel.rules.scope import Declare, Drop

QUIET: Final = frozenset({
    Bind, Declare, Drop, Erase, Inline, Reorder, Rewrite, Same,
})  # fmt: skip
"""Rules by which a statement touches nothing new, unless an expression among their arguments reads memory.  The loops
that ``Reorder`` brings are asked about."""


def spoiled(before: PrimFunc, after: PrimFunc, steps: Iterable[Step]) -> list[Path]:
    """The marked loops of ``after`` that are to be asked about, once ``steps`` have led there from ``before``."""
    if before.body is after.body:
        return []
    places = [*marked_loops(after.body)]
    if not places or not _assumed(before) <= _assumed(after):
        return places
    steps = [*steps]
    nests = [step.rule.new for step in steps if isinstance(step.rule, Reorder)]
    new = {loop.var for nest in nests for loop in nodes_of(nest, For)}
    marked = (at(before.body, p) for p in marked_loops(before.body))
    old = {loop.var: loop for loop in marked if isinstance(loop, For) and loop.var not in new}
    quiet = all(map(_quiet, steps))
    return [p for p in places if not _stands(at(after.body, p), old, quiet)]


def newly_private(before: PrimFunc, after: PrimFunc, steps: Iterable[Step], waiting: frozenset[Var]) -> frozenset[Var]:
    """The memory that ``steps`` put into a storage scope that threads do not share, and what of ``waiting`` it was."""
    scopes = {s.buffer.data: s.buffer.scope for s in nodes_of(before.body, Allocate)}
    now = {s.buffer.data: s.buffer.scope for s in nodes_of(after.body, Allocate) if owners(s.buffer.scope)}
    olds: dict[Var, set[Var]] = {}
    for step in steps:
        for new, old in step.made.heirs:
            olds.setdefault(new, set()).update(olds.get(old, {old}))
    found = set()
    for data, scope in now.items():
        origins = {data} if data in scopes else olds.get(data, set())
        if not origins or any(o in waiting or scopes.get(o) != scope for o in origins):
            found.add(data)
    return frozenset(found - (scopes.keys() - waiting))


def _stands(loop: Any, old: dict[Any, For], quiet: bool) -> bool:
    was = old.get(loop.var)
    return was is loop or (quiet and was is not None and (was.kind, was.thread) == (loop.kind, loop.thread))


def _assumed(func: PrimFunc) -> set[Stmt]:
    """The assumptions in a program, on which race freedom may rest."""
    return {*nodes_of(func.body, Assume)}


def _quiet(step: Step) -> bool:
    """Whether a step's statement accesses the same elements as before, or fewer, and buffers are in the same scopes."""
    rule = step.rule
    if type(rule) not in QUIET or step.made.heirs:
        return False
    if type(rule) is Rewrite and all(d.obligation.name != "equal" for d in step.obligations):
        return not any(_loads(_redirected(e.new)) for e in rule.edits)
    return type(rule) is Same or not _loads(rule)


def _redirected(access: Expr) -> Expr | tuple[Any, ...]:
    """What an access of the same element, through another view, evaluates."""
    load = access.value if isinstance(access, Cast) else access
    return (load.indices, load.predicate) if isinstance(load, Load) else access


def _loads(value: Any) -> bool:
    """Whether a rule's arguments read memory."""
    if isinstance(value, Node):
        return bool(nodes_of(value, Load))
    if isinstance(value, tuple):
        return any(map(_loads, value))
    return is_dataclass(value) and any(_loads(getattr(value, f.name)) for f in fields(value))
