"""Simplify: expressions to shorter ones, decided branches, loops that run once or never.

The simplifier is untrusted; each expression that it changes is a ``rewrite`` of the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from verified_tir.index.bounds import Bounds, Ranges
from verified_tir.index.conditions import conjuncts, facts_of, junction, negate, operands
from verified_tir.index.fold import size
from verified_tir.index.simplify import Simplifier
from verified_tir.ir.equal import structural_equal
from verified_tir.ir.expr import FALSE, TRUE, Binary, Call, Cast, Expr, IfThenElse, IntImm, Load, Select, Undef, Var
from verified_tir.ir.index_arith import is_index
from verified_tir.ir.paths import Path, places
from verified_tir.ir.stmt import Allocate, Assume, Block, For, If, LetStmt, Seq, Stmt
from verified_tir.ir.visit import nodes_of, sub_statements
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.rewrite import ExprPath, Rewrite
from verified_tir.schedule.edits import largest_parts, rewritten, together
from verified_tir.schedule.session import Session, TacticFailed
from verified_tir.schedule.tactics.branches import decide_branches
from verified_tir.schedule.tactics.conditionals import merge_conditionals
from verified_tir.schedule.tactics.known import Known, Values
from verified_tir.schedule.tactics.tidy import is_empty, run_once


def simplify(session: Session, under: Path = ()) -> int:
    """Simplify everything at or below a place; gives how many changes were made."""
    changed = simplify_expressions(session, under)
    changed += decide_branches(session, under)
    changed += merge_conditionals(session, under)
    changed += remove_trivial_loops(session, under)
    return changed


def simplify_expressions(session: Session, under: Path = ()) -> int:
    """Replace index expressions and conditions by shorter ones, outermost first."""
    return attempt_all(session, proposed_rewrites(session, under))


def attempt_all(session: Session, rules: Sequence[Rewrite]) -> int:
    """Take all rewrites that the kernel allows, in one step if it allows them all; gives how many.

    If they are refused together, the halves are tried, and so on down to the one that is refused.
    """
    if not rules:
        return 0
    if session.attempt(together(rules)):
        return len(rules)
    if len(rules) == 1:
        return 0
    half = len(rules) // 2
    return attempt_all(session, rules[:half]) + attempt_all(session, rules[half:])


def proposed_rewrites(session: Session, under: Path = ()) -> list[Rewrite]:
    """The replacements that the simplifier would make at or below a place; none of them moves another's place."""
    found = _proposals(session.stmt(under), under, *known_at(session, under))
    return [rewritten(path, where, new) for path, where, new in found]


def known_at(session: Session, path: Path) -> tuple[Ranges, Known]:
    """The loops around a place, and what is known there."""
    ranges: Ranges = {}
    known = Known()
    stmt: Stmt = session.func.body
    for step in path:
        ranges, known = inside(stmt, step, ranges, known)
        stmt = sub_statements(stmt)[step]
    return ranges, known


def inside(stmt: Stmt, step: int, ranges: Ranges, known: Known) -> tuple[Ranges, Known]:
    """What is known in one of a statement's parts."""
    match stmt:
        case For(var=var, min=low, extent=extent):
            ranges = {**ranges, var: (low, extent)}
        case If(condition=c):
            known = known.denied(c) if step else known.given(c)
        case Seq(stmts=stmts):
            for s in stmts[:step]:
                if isinstance(s, Assume):
                    known = known.assuming(s.condition)
    return ranges, known


def _proposals(stmt: Stmt, path: Path, ranges: Ranges, known: Known) -> Iterator[tuple[Path, ExprPath, Expr]]:
    if isinstance(stmt, For):
        yield from _bounds(stmt, path, Simplifier(Bounds(ranges, known.facts)))
    elif not isinstance(stmt, (Allocate, Block, Seq)):
        given = Known() if isinstance(stmt, Assume) else known
        change = partial(_simpler, Simplifier(Bounds(ranges, given.facts)), given.values)
        yield from ((path, where, new) for where, new in largest_parts(stmt, change))
    for k, sub in enumerate(sub_statements(stmt)):
        here = (ranges, known) if isinstance(stmt, Seq) else inside(stmt, k, ranges, known)
        yield from _proposals(sub, (*path, k), *here)
        if isinstance(stmt, Seq) and isinstance(sub, Assume):
            known = known.assuming(sub.condition)


def _bounds(loop: For, path: Path, simplifier: Simplifier) -> Iterator[tuple[Path, ExprPath, Expr]]:
    """Proposals for a loop's start and extent; what people read is the start and the end."""
    low = _shorter(loop.min, simplifier)
    if low is not loop.min:
        yield path, (0,), low
    extent = _shorter(loop.extent, simplifier)
    end = simplifier.expr(loop.min + loop.extent)
    if not isinstance(extent, IntImm) and not (isinstance(low, IntImm) and low.value == 0) and size(end) < size(extent):
        extent = end - low
    if extent is not loop.extent:
        yield path, (1,), extent


def _shorter(e: Expr, simplifier: Simplifier) -> Expr:
    """A shorter equivalent, or ``e`` itself: what need not change stays as it was written."""
    match e:
        case Binary(op="and" | "or" as op):
            new = junction(op, _not_implied(op, [_shorter(part, simplifier) for part in operands(op, e)], simplifier))
        case _:
            new = simplifier.expr(e)
    return new if new.dtype is e.dtype and size(new) < size(e) else e


def _not_implied(op: str, parts: list[Expr], simplifier: Simplifier) -> list[Expr]:
    """Conditions that are joined, each as it is where the others do not decide the whole.

    The others are true then, of ``or`` false.  One that reads memory may not be left to others, nor decide them.
    """
    neutral, absorbing = (TRUE, FALSE) if op == "and" else (FALSE, TRUE)
    for k, part in enumerate(parts):
        if any(_follows(op, p, part) for p in (*parts[:k], *parts[k + 1 :]) if is_index(p) and is_index(part)):
            return _not_implied(op, [*parts[:k], *parts[k + 1 :]], simplifier)
        others = [p for p in (*parts[:k], *parts[k + 1 :]) if is_index(p)]
        facts = [*facts_of(others if op == "and" else [c for p in others for c in conjuncts(negate(p))])]
        found = Simplifier(simplifier.bounds.given(facts)).expr(part) if facts and is_index(part) else part
        if found in (neutral, absorbing):
            rest = [*parts[:k], *parts[k + 1 :]]
            return _not_implied(op, rest, simplifier) if found is neutral else [absorbing]
    return parts


def _follows(op: str, one: Expr, other: Expr) -> bool:
    """Whether of two parts ``other`` says nothing more: ``(a or b) and (a or b or c)``, and with ``and`` and ``or``
    exchanged; also ``(a or k == 20) and (a or k != 30)``."""
    inner = "or" if op == "and" else "and"
    weaker = operands(inner, other)

    def implied(p: Expr) -> bool:
        if any(structural_equal(p, q) for q in weaker):
            return True
        facts = [*facts_of([p] if op == "and" else conjuncts(negate(p)))]
        wanted = TRUE if op == "and" else FALSE
        return bool(facts) and any(Simplifier(Bounds({}, facts)).expr(q) is wanted for q in weaker)

    return all(implied(p) for p in operands(inner, one))


def _simpler(simplifier: Simplifier, values: Values, e: Expr) -> Expr:
    """Index arithmetic and conditions in a shorter form, of a choice that is decided the arm, of a load its value where
    that is known, of a conversion to a value's own type the value.

    ``x == T.undef()`` in an assumption is not a comparison; only its parts change.
    """
    if isinstance(e, Cast) and e.value.dtype is e.dtype:
        return e.value
    if isinstance(e, Load):
        return next((value for load, value in values if load is e), e)
    arm = _chosen(e, simplifier)
    if arm is not None and not nodes_of(arm, Undef):
        return _shorter(arm, simplifier)
    if isinstance(e, (Var, IntImm)) or nodes_of(e, Undef):
        return e
    # of data only parts change; each by itself, since products that wrap are hard for the solver
    return _shorter(e, simplifier) if e.dtype.is_bool or (e.dtype.is_int and is_index(e)) else e


def unhinted(condition: Expr) -> Expr:
    """The condition in ``likely(…)``."""
    while isinstance(condition, Call) and condition.op == "likely":
        condition = condition.args[0]
    return condition


def _chosen(e: Expr, simplifier: Simplifier) -> Expr | None:
    """The arm of a choice whose condition is decided."""
    if not isinstance(e, (Select, IfThenElse)):
        return None
    match simplifier.expr(unhinted(e.condition)):
        case IntImm(value=value):
            return e.true_value if value else e.false_value
        case _:
            return None


def remove_trivial_loops(session: Session, under: Path = ()) -> int:
    """Loops of extent one become their body; loops of extent zero and empty branches go."""
    changed = 0
    skipped: set[Stmt] = set()
    while True:
        found = next(iter(places(session.left(under), lambda s: s not in skipped and _trivial(s))), None)
        if found is None:
            return changed
        path, stmt = (*under, *found[0]), found[1]
        once = isinstance(stmt, For) and isinstance(stmt.extent, IntImm) and stmt.extent.value == 1
        try:
            if once:
                run_once(session, path)
            else:
                session.apply(Erase(path))
        except TacticFailed:
            skipped.add(stmt)
            continue
        changed += 1
        if isinstance(stmt, For):
            session.gone[stmt.var] = f"it ran {'once' if once else 'never'} and was simplified away"
        if under and path == under:
            return changed  # what stands here now may be another statement


def _trivial(stmt: Stmt) -> bool:
    match stmt:
        case For(extent=IntImm(value=n), kind=kind):
            return n <= 0 or (n == 1 and kind != "thread_binding")
        case For() | LetStmt() | If():
            return is_empty(stmt)
        case _:
            return False
