"""Rules that are built when they are applied: labels, attributes and annotations added and removed; single-trip loops.

Each function here returns a *rule builder* (:data:`~verified_tir.schedule.moves.RuleBuilder`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from verified_tir.elaborate.labels import without_labels
from verified_tir.elaborate.own_memory import in_scope
from verified_tir.ir.expr import Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path, at
from verified_tir.ir.stmt import SKIP, Allocate, Annotations, AttrStmt, Block, For, ForKind, If, Seq, Stmt, seq
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import mentions
from verified_tir.kernel.obligation import NoMatch
from verified_tir.kernel.rules.same import Same
from verified_tir.kernel.rules.scope import Move
from verified_tir.kernel.step import Rule
from verified_tir.schedule import moves
from verified_tir.schedule.moves import NewLoop, RuleBuilder, builder


def _statement_at(func: PrimFunc, path: Path) -> Stmt | NoMatch:
    """The statement at a path, or a refusal."""
    try:
        return at(func.body, path)
    except IRError as problem:
        return NoMatch(path, str(problem))


@builder
def _labelled_alone(stmt: Stmt, path: Path, name: str) -> Stmt:
    """Label the statement at ``path``."""
    return Block.label(name, stmt)


@builder
def _labelled_together(around: Stmt, path: Path, first: int, count: int, name: str) -> Stmt | str:
    if not isinstance(around, Seq) or not 0 <= first <= len(around.stmts) - count:
        return f"there are no {count - 1} statements after this one"
    label = Block.label(name, seq(*around.stmts[first : first + count]))
    return seq(*around.stmts[:first], label, *around.stmts[first + count :])


def labelled(path: Path, name: str, count: int = 1) -> RuleBuilder:
    """Label the statement at ``path``, or ``count`` statements of a sequence from there on."""
    if count == 1:
        return _labelled_alone(path, name)
    return _labelled_together(path[:-1], path[-1] if path else -1, count, name)


@builder
def unwrapped(stmt: Stmt, path: Path) -> Stmt | str:
    """Remove a label, or an attribute, around a statement."""
    match stmt:
        case Block(is_label=True, body=body) | AttrStmt(body=body):
            return body
    return "neither a label nor an attribute"


def unlabelled(func: PrimFunc) -> Same:
    """Remove all labels; a rule builder itself."""
    return Same((), without_labels(func.body))


@builder
def split_label(stmt: Stmt, path: Path, position: int, first: str) -> Stmt | str:
    """``with block: A; B`` ⟶ ``with first: A`` then ``with block: B``, where B begins at ``position``."""
    match stmt:
        case Block(is_label=True, name=name, body=Seq(stmts=stmts), annotations=notes) if 0 < position < len(stmts):
            a, b = seq(*stmts[:position]), seq(*stmts[position:])
            return seq(Block.label(first, a, notes), Block.label(name, b, notes))
    return "not a label of a sequence that can be split there"


@builder
def annotated(stmt: Stmt, path: Path, annotations: Annotations) -> Stmt | str:
    """Replace the annotations of the loop, allocation or label at ``path``."""
    match stmt:
        case For() | Allocate() | Block(is_label=True):
            return replace(stmt, annotations=annotations)
    return "neither a loop nor an allocation nor a label: it has no annotations"


@builder
def with_else(stmt: Stmt, path: Path) -> Stmt | str:
    """Give the ``if`` at ``path``, which has no else branch, an empty one."""
    match stmt:
        case If(else_body=None):
            return replace(stmt, else_body=SKIP)
    return "not an if without else"


def with_attributes(attrs: Annotations) -> RuleBuilder:
    """Replace the attributes of the function."""

    def attributed(func: PrimFunc) -> Same:
        return Same((), func.body, attrs)

    return attributed


@builder
def of_kind(stmt: Stmt, path: Path, kind: ForKind, thread: str = "") -> Stmt | str:
    """Make the loop at ``path`` serial, parallel, vectorized, unrolled, or bound to a thread."""
    return replace(stmt, kind=kind, thread=thread) if isinstance(stmt, For) else "not a loop"


@builder
def rescoped(stmt: Stmt, path: Path, scope: str) -> Stmt | str:
    """Change the storage scope of the buffer allocated at ``path``, and of every view of its block."""
    if not isinstance(stmt, Allocate):
        return "no buffer is allocated here"
    return in_scope(stmt, stmt.buffer, scope)


def moved(path: Path, how: Literal["hoist", "sink", "narrow", "widen"]) -> RuleBuilder:
    """The allocation at ``path`` moves into the loop below it (``sink``), or around the statements that use it; or the
    one in the loop at ``path`` moves out (``hoist``); or the next statement of its sequence joins it (``widen``)."""

    def rule(func: PrimFunc) -> Rule | NoMatch:
        stmt = _statement_at(func, path)
        if isinstance(stmt, NoMatch):
            return stmt
        found = _target(stmt, how)
        if isinstance(found, str):
            return NoMatch(path, found)
        if how == "hoist":
            return Move((*path, 0), path)
        steps, count = found
        spliced = path and isinstance(at(func.body, path[:-1]), Seq)  # a sequence that is left is one with that around
        if isinstance(at(func.body, (*path, 0)), Seq) and spliced:
            return Move(path, (*path[:-1], path[-1] + steps[0]), count)
        return Move(path, (*path, *steps), count)

    return rule


def _target(stmt: Stmt, how: str) -> tuple[Path, int] | str:
    """Where an allocation goes, in what is left without it, and how many statements it stands around then."""
    match how, stmt:
        case "hoist", For(body=Allocate()):
            return (), 1
        case "sink", Allocate(body=For()):
            return (0,), 1
        case "widen", Allocate(body=body):
            return ((0,), len(body.stmts) + 1) if isinstance(body, Seq) else ((), 2)
        case "narrow", Allocate(buffer=b, body=Seq(stmts=stmts)):
            used = [k for k, s in enumerate(stmts) if mentions(s, frozenset({b.data}))]
            return ((used[0],), used[-1] + 1 - used[0]) if used else f"{b.name} is not used"
        case "narrow", Allocate(body=If(else_body=None)) | Allocate(body=Allocate()):
            return (0,), 1
    return f"no allocation of the form that {how!r} needs"


def run_once(path: Path) -> RuleBuilder:
    """Single-trip loop elimination: replace the loop of extent 1 at ``path`` by its body."""

    def make(func: PrimFunc) -> Rule | NoMatch:
        loop = _statement_at(func, path)
        if isinstance(loop, NoMatch):
            return loop
        if not isinstance(loop, For):
            return NoMatch(path, "not a loop")
        return moves.reindex(path, 1, (), (), (loop.min,), ())(func)

    return make


def in_a_loop(path: Path, var: Var) -> RuleBuilder:
    """Put a single-trip loop over a fresh variable around the statement at ``path``."""
    zero = const(0, var.dtype)
    return moves.reindex(path, 0, (NewLoop(var, zero, const(1, var.dtype)),), (), (), (zero,))


__all__ = [
    "RuleBuilder", "annotated", "in_a_loop", "labelled", "moved", "of_kind", "rescoped", "run_once", "split_label",
    "unlabelled", "unwrapped", "with_attributes",
]  # fmt: skip
