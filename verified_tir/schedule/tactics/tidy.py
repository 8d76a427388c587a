"""Small repairs of the text that a step leaves: constants folded, nested guards joined.

Each change is a ``rewrite`` of the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from verified_tir.index.conditions import conjuncts
from verified_tir.index.fold import folded
from verified_tir.ir.expr import Binary, Expr, IntImm, Load, Var
from verified_tir.ir.paths import Path, places
from verified_tir.ir.stmt import SKIP, Allocate, AttrStmt, Block, DeclBuffer, For, If, LetStmt, Seq, Stmt
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import free_vars, mentions, substitute
from verified_tir.kernel.rules.erase import Erase
from verified_tir.schedule import moves, rule_builders
from verified_tir.schedule.edits import largest_parts, rewritten
from verified_tir.schedule.moves import NewLoop
from verified_tir.schedule.session import Session


def fold_at(session: Session, *paths: Path) -> None:
    """Fold constants in everything at or below the places."""
    for path in paths:
        for place, stmt in list(places(session.stmt(path), lambda s: not isinstance(s, (Allocate, Block, Seq)))):
            _fold(session, (*path, *place), stmt)


def fold_bounds(session: Session, path: Path) -> None:
    """Fold constants in the bounds of one loop."""
    _fold(session, path, session.at(path, For))


def _fold(session: Session, path: Path, stmt: Stmt) -> None:
    for where, new in largest_parts(stmt, _folded):
        session.attempt(rewritten(path, where, new))


def _folded(e: Expr) -> Expr:
    """Index arithmetic and conditions, folded."""
    foldable = (e.dtype.is_int or e.dtype.is_bool) and not isinstance(e, (Var, IntImm, Load))
    return folded(e) if foldable else e


def run_once(session: Session, path: Path) -> int:
    """Replace a loop of one iteration by its body, constants folded; gives how many statements stand there now."""
    loop = session.at(path, For)
    session.apply(rule_builders.run_once(path))
    spliced = isinstance(loop.body, Seq) and bool(path) and isinstance(session.stmt(path[:-1]), Seq)
    count = len(loop.body.stmts) if spliced and isinstance(loop.body, Seq) else 1
    if mentions(loop.body, frozenset({loop.var})):
        fold_at(session, *[(*path[:-1], path[-1] + k) for k in range(count)] if path else [path])
    return count


def join_guards(session: Session, path: Path) -> None:
    """``if a: if b: S`` ⟶ ``if a and b: S`` at the place and in the loops and guards right below it."""
    while True:
        match session.stmt(path):
            case If(then_body=If(else_body=None), else_body=None):
                flatten_guard(session, (*path, 0))
                session.apply(moves.reshape(path, "unnest"))
            case If(else_body=None) | For():
                path = (*path, 0)
            case _:
                return


def flatten_guard(session: Session, path: Path) -> None:
    """``if (a and b) and c`` ⟶ ``if a: if b: if c``, so that joining it to another guard needs no brackets."""
    while isinstance(stmt := session.stmt(path), If) and isinstance(stmt.condition, Binary):
        if stmt.condition.op != "and":
            return
        session.apply(moves.reshape(path, "nest"))


def guards_of(chain: Iterable[Stmt], mapping: Mapping[Var, Expr]) -> tuple[Expr, ...]:
    """The conditions of the guards of a nest, outermost first, one by one, under a substitution."""
    found = [substitute(s.condition, mapping) for s in chain if isinstance(s, If)]
    return tuple(c for condition in found for c in conjuncts(condition))


def remove_decided_loops(session: Session, path: Path, *, unit_loops: bool = False) -> int:
    """``for x: for y: if x == e and c: S`` ⟶ ``for y: if c: S[x := e]`` in the nest at a place, where e stands outside
    of it; gives how many loops went.

    :param unit_loops: leave a loop of one iteration in the place of each.
    """
    removed = 0
    while any(session.succeeds(way) for way in _decisions(session, path, unit_loops)):
        removed += 1
    return removed


def _decisions(session: Session, path: Path, unit_loops: bool) -> Iterator[Callable[[], None]]:
    """The loops of a nest that a condition decides, each as a step that removes it."""
    chain: list[Stmt] = []
    stmt = session.left(path)
    while isinstance(stmt, For) or (isinstance(stmt, If) and stmt.else_body is None):
        chain.append(stmt)
        stmt = stmt.body if isinstance(stmt, For) else stmt.then_body
    loops = [s for s in chain if isinstance(s, For)]
    inside = {s.var for s in loops}
    for guard in guards_of(chain, {}):
        if isinstance(guard, Binary) and guard.op == "eq":
            for x, e in ((guard.a, guard.b), (guard.b, guard.a)):
                loop = next((s for s in loops if s.var is x and s.kind == "serial"), None)
                if loop is not None and inside.isdisjoint(free_vars(e)):
                    yield partial(_decide, session, path, chain, loop, e, guard, unit_loops)


def _decide(
    session: Session, path: Path, chain: list[Stmt], loop: For, value: Expr, guard: Expr, unit_loops: bool
) -> None:
    others = [s for s in chain if isinstance(s, For) and (s is not loop or unit_loops)]
    fresh: dict[Var, Expr] = {loop.var: value}
    news: list[NewLoop] = []
    for s in others:
        var = Var.fresh(s.var.name, s.var.dtype)
        if s is loop:
            news.append(NewLoop(var, const(0, var.dtype), const(1, var.dtype), s.kind, s.thread, s.annotations))
            continue
        low, extent = substitute(s.min, fresh), substitute(s.extent, fresh)
        news.append(NewLoop(var, low, extent, s.kind, s.thread, s.annotations))
        fresh[s.var] = var
    beyond = (Binary("ge", value, substitute(loop.min, fresh)),
              Binary("lt", value, substitute(loop.min + loop.extent, fresh)))  # fmt: skip
    kept = [substitute(c, fresh) for c in guards_of(chain, {}) if c is not guard]
    old_of_new = tuple(fresh[s.var] for s in chain if isinstance(s, For))
    new_of_old = tuple(const(0, s.var.dtype) if s is loop else s.var for s in others)
    ways = [
        partial(session.apply, moves.reindex(path, len(chain), tuple(news), tuple(guards), old_of_new, new_of_old))
        for guards in (kept, [*kept, *beyond])
    ]
    session.first_of(ways)
    session.renamed.update({s.var: new for s in others if s is not loop and isinstance(new := fresh[s.var], Var)})
    session.gone[loop.var] = "it made one iteration"


def remove_empty(session: Session, under: Path = ()) -> None:
    """Erase loops, branches, lets, labels and allocations around nothing, from the inside out.

    One that may not be erased (its condition is an opaque call) stays.
    """
    session.each(Stmt, lambda path, _: int(session.attempt(Erase(path))), is_empty, under, last_first=True)


def is_empty(stmt: Stmt) -> bool:
    """Whether a statement holds nothing (sequences of nothing are nothing already)."""
    match stmt:
        case (
            For(body=body) | LetStmt(body=body) | Allocate(body=body) | DeclBuffer(body=body) | Block(body=body)
            | AttrStmt(body=body)
        ):  # fmt: skip
            return body is SKIP
        case If(then_body=body, else_body=other):
            return body is SKIP and (other is None or other is SKIP)
    return False
