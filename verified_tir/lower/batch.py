"""Many rewrites of expressions at once, which are one step.

If one is refused, the halves are tried, and so on down to the rewrite that is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from verified_tir.kernel.rules.rewrite import Rewrite
from verified_tir.schedule.edits import together
from verified_tir.schedule.session import Session
from verified_tir.schedule.tactics.branches import decide_branches
from verified_tir.schedule.tactics.conditionals import merge_conditionals
from verified_tir.schedule.tactics.simplify import proposed_rewrites, remove_trivial_loops


def attempt_all(session: Session, rules: Sequence[Rewrite]) -> int:
    """Take all steps that the kernel allows; gives how many."""
    if not rules:
        return 0
    if session.attempt(together(rules)):
        return len(rules)
    if len(rules) == 1:
        return 0
    half = len(rules) // 2
    return attempt_all(session, rules[:half]) + attempt_all(session, rules[half:])


def simplify_everywhere(session: Session) -> int:
    """Shorter index arithmetic, decided branches, loops that run once or never; gives how many changes."""
    changed = attempt_all(session, proposed_rewrites(session))
    changed += decide_branches(session)
    changed += merge_conditionals(session)
    return changed + remove_trivial_loops(session)
