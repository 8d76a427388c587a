"""Shared by the rules: statements at a place, and questions about dependences and safety."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from verified_tir import ir
from verified_tir.kernel.access import BARRIER, Access, conflicts, overlap
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import EVERYTHING, read_blocks, written_blocks
from verified_tir.kernel.obligation import Misfit, Question
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Safety


def following(root: ir.Stmt, path: ir.Path, count: int) -> tuple[ir.Stmt, ...]:
    """The next ``count`` statements of the sequence in which ``path`` stands."""
    if count <= 0:
        return ()
    parent = ir.at(root, path[:-1])
    if not path or not isinstance(parent, ir.Seq) or path[-1] + count >= len(parent.stmts):
        raise Misfit(f"there are no {count} statements after this one")
    return parent.stmts[path[-1] + 1 : path[-1] + 1 + count]


def together(root: ir.Stmt, path: ir.Path, count: int) -> ir.Stmt:
    """The statement at ``path`` and those after it, ``count`` in all, as one."""
    return ir.seq(ir.at(root, path), *following(root, path, count - 1))


def replaced(root: ir.Stmt, path: ir.Path, count: int, new: ir.Stmt) -> ir.Stmt:
    """``root`` with ``new`` in place of the statement at ``path``, and of those after it: ``count`` in all."""
    around = ir.at(root, path[:-1])
    if count <= 1:
        return ir.put(root, path, new)
    assert isinstance(around, ir.Seq)
    added = new.stmts if isinstance(new, ir.Seq) else (new,)  # other sequences stay as they are, as with ``put``
    stmts = (*around.stmts[: path[-1]], *added, *around.stmts[path[-1] + count :])
    return ir.put(root, path[:-1], stmts[0] if len(stmts) == 1 else ir.Seq(stmts))


def no_dependence(
    context: Context,
    first: Iterable[Access],
    second: Iterable[Access],
    given: tuple[Term, ...],
    why: str,
    path: ir.Path,
) -> Iterator[Question]:
    """One question for each pair of accesses between which there might be a dependence, and for each barrier."""
    first, second = list(first), list(second)
    for a in (*first, *second):
        if a.buffer is BARRIER:
            claim = f"{why}: an opaque call, assertion or while loop stays in its place"
            yield Question("dependence", claim, context, (*given, *a.given), f.FALSE, (*path, *a.place))
    for a, b in conflicts(first, second):
        claim = f"{why}: no dependence between the {_verb(a)} and the {_verb(b)} of {a.buffer.name}"
        goal = f.not_(overlap(a, b))
        yield Question("dependence", claim, context, (*given, *a.given, *b.given), goal, (*path, *a.place))


def _verb(a: Access) -> str:
    return "write" if a.write else "read"


def safe_questions(
    context: Context, safety: Iterable[Safety], given: tuple[Term, ...], path: ir.Path, where: str = "after"
) -> Iterator[Question]:
    """One question for each safety condition of newly evaluated expressions."""
    for s in safety:
        claim = (s.expr, ": ", s.kind)
        yield Question("safety", claim, context, (*given, *s.premises), s.condition, path, where)


def evaluated_safely(
    context: Context, exprs: Iterable[ir.Expr], given: tuple[Term, ...], path: ir.Path
) -> Iterator[Question]:
    """Questions whether the expressions can be evaluated here safely, with defined values."""
    for e in exprs:
        safety: list[Safety] = []
        encoded = context.encoder(safety).encode(e)
        yield from safe_questions(context, safety, given, path)
        if encoded.defined is not f.TRUE:
            yield Question("safety", (e, " is defined"), context, given, encoded.defined, path, "after")


def occurs(func: ir.PrimFunc, *variables: ir.Var) -> bool:
    """Whether one of the variables occurs in a function at all, free or bound: each is bound once."""
    return ir.mentions(func, frozenset(variables))


def changes(stmt: ir.Stmt, exprs: Iterable[ir.Expr]) -> bool:
    """Whether the statement may write a block that the expressions read, or one of them has an effect itself.

    An opaque call in an expression is evaluated as often as before and in the same order, or the step is refused.
    """
    blocks, written = read_blocks(*exprs), written_blocks(stmt)
    return not blocks.isdisjoint({*written, EVERYTHING}) or (bool(blocks) and EVERYTHING in written)
