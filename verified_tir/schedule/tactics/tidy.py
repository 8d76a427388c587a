"""Small repairs of the text that a step leaves: constants folded, nested guards joined.

A step puts one expression in the place of a loop variable; ``A[i - 3]`` with ``i_0 * 4 + i_1 + 3`` for i reads badly.
:func:`folded` collects constants and like terms, and keeps everything else as it was written: terms stay in the
order in which they first occur, and factors behind their terms, as TVM writes them.  Each change is a ``rewrite`` of
the kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from verified_tir.ir.expr import Binary, Expr, IntImm, Load, Var
from verified_tir.ir.index_arith import is_index
from verified_tir.ir.node import IRError, Node
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import SKIP, Allocate, AttrStmt, Block, DeclBuffer, For, If, LetStmt, Seq, Stmt
from verified_tir.ir.sugar import binary, const
from verified_tir.ir.visit import children, map_children, sub_statements, substitute, walk
from verified_tir.kernel.rules.rewrite import ExprPath, expressions
from verified_tir.schedule import moves, rule_builders
from verified_tir.schedule.edits import rewritten
from verified_tir.schedule.session import Session

Sum = dict[Expr, int]
"""Terms with their factors, in order of first occurrence; the constant is apart."""


def size(e: Node) -> int:
    """How many operators and leaves an expression has, written out."""
    return 1 + sum(size(c) for c in children(e) if isinstance(c, Expr)) if not isinstance(e, (Var, IntImm)) else 1


def folded(e: Expr) -> Expr:
    """``e`` with constants and like terms of its integer sums collected; ``e`` itself if that makes it no shorter."""
    try:
        new = _fold(e)
    except IRError:  # a constant outgrew its type
        return e
    shorter = size(new) < size(e) or (size(new) == size(e) and any(_is_factored(n) for n in walk(e)))
    return new if shorter else e


def _is_factored(n: Node) -> bool:
    """``(a + b) * k``: it reads better multiplied out."""
    return isinstance(n, Binary) and n.op == "mul" and isinstance(n.a, Binary) and n.a.op in ("add", "sub")


def _fold(e: Expr) -> Expr:
    if e.dtype.is_int and e.dtype.lanes == 1 and is_index(e):
        terms: Sum = {}
        constant = _collect(e, 1, terms)
        return _render(terms, constant, e)
    rebuilt = map_children(e, lambda c: _fold(c) if isinstance(c, Expr) and not isinstance(c, Var) else c)
    return _refold(rebuilt)


def _refold(e: Expr) -> Expr:
    """The node again, through the constructor that folds constants."""
    return binary(e.op, e.a, e.b) if isinstance(e, Binary) and e.a.dtype.is_int and e.dtype.lanes == 1 else e


def _collect(e: Expr, factor: int, terms: Sum) -> int:
    """Add ``factor * e`` to the terms; gives what it adds to the constant."""
    match e:
        case IntImm(value=value):
            return factor * value
        case Binary(op="add", a=a, b=b):
            return _collect(a, factor, terms) + _collect(b, factor, terms)
        case Binary(op="sub", a=a, b=b):
            return _collect(a, factor, terms) + _collect(b, -factor, terms)
        case Binary(op="mul", a=a, b=IntImm(value=k)) | Binary(op="mul", a=IntImm(value=k), b=a):
            return _collect(a, factor * k, terms)
    atom = _refold(map_children(e, lambda c: _fold(c) if isinstance(c, Expr) else c)) if not isinstance(e, Var) else e
    if isinstance(atom, IntImm):
        return factor * atom.value
    terms[atom] = terms.get(atom, 0) + factor
    return 0


def _render(terms: Sum, constant: int, like: Expr) -> Expr:
    dtype = like.dtype
    positive = [(t, k) for t, k in terms.items() if k > 0]
    negative = [(t, -k) for t, k in terms.items() if k < 0]
    total: Expr | None = None
    for t, k in positive:
        term = t * k
        total = term if total is None else total + term
    if total is None:
        total, constant = const(constant, dtype), 0
    for t, k in negative:
        total = total - t * k
    return total + constant if constant >= 0 else total - -constant


def fold_at(session: Session, *paths: Path) -> None:
    """Fold constants in everything at or below the places."""
    for path in paths:
        for where, at, new in list(_proposals(session.stmt(path), path)):
            session.attempt(rewritten(where, at, new))


def fold_bounds(session: Session, path: Path) -> None:
    """Fold constants in the bounds of one loop."""
    loop = session.stmt(path)
    assert isinstance(loop, For)
    for _, where, new in list(_bounds(loop, path)):
        session.attempt(rewritten(path, where, new))


def _proposals(stmt: Stmt, path: Path) -> Iterator[tuple[Path, ExprPath, Expr]]:
    if isinstance(stmt, For):
        yield from _bounds(stmt, path)
    elif not isinstance(stmt, (Allocate, Block, Seq)):
        for k, e in enumerate(expressions(stmt)):
            yield from ((path, where, new) for where, new in _shorter(e, (k,)))
    for k, sub in enumerate(sub_statements(stmt)):
        yield from _proposals(sub, (*path, k))


def _bounds(loop: For, path: Path) -> Iterator[tuple[Path, ExprPath, Expr]]:
    for k, e in enumerate((loop.min, loop.extent)):
        new = folded(e)
        if new is not e:
            yield path, (k,), new


def _shorter(e: Expr, where: ExprPath) -> Iterator[tuple[ExprPath, Expr]]:
    """The largest subexpressions that are index arithmetic or conditions and can be folded."""
    if (e.dtype.is_int or e.dtype.is_bool) and not isinstance(e, (Var, IntImm, Load)):
        new = folded(e)
        if new is not e:
            yield where, new
            return
    for k, sub in enumerate(expressions(e)):
        yield from _shorter(sub, (*where, k))


def run_once(session: Session, path: Path) -> int:
    """Replace a loop of one iteration by its body, constants folded; gives how many statements stand there now."""
    loop = session.stmt(path)
    assert isinstance(loop, For)
    session.apply(rule_builders.run_once(path))
    spliced = isinstance(loop.body, Seq) and bool(path) and isinstance(session.stmt(path[:-1]), Seq)
    count = len(loop.body.stmts) if spliced and isinstance(loop.body, Seq) else 1
    if mentions(loop.body, loop.var):
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


def conjuncts(condition: Expr) -> list[Expr]:
    """The parts of a conjunction, left to right."""
    match condition:
        case Binary(op="and", a=a, b=b):
            return [*conjuncts(a), *conjuncts(b)]
    return [condition]


def guards_of(chain: Iterable[Stmt], mapping: Mapping[Var, Expr]) -> tuple[Expr, ...]:
    """The conditions of the guards of a nest, outermost first, one by one, under a substitution."""
    found = [substitute(s.condition, mapping) for s in chain if isinstance(s, If)]
    return tuple(c for condition in found for c in conjuncts(condition))


def mentions(e: Node, var: Var) -> bool:
    """Whether a variable occurs below a node."""
    return any(n is var for n in walk(e))


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
