"""An expression gets a name, or a temporary buffer, and names give their values back.

    bind_expr:    S[e]           ⟶      let x = e in S[x]        or        x = alloc(1); x[0] = e; S[x[0]]
    inline_let:   the other way round

Where nothing in S writes what e reads, one rule does it all (``bind``).  Otherwise the name comes first, and takes the
place of each occurrence by itself (``rewrite``): the kernel proves that e has the same value there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, LetExpr, Load, Var
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path, places
from verified_tir.ir.script import script
from verified_tir.ir.script.dtypes import is_dtype_name
from verified_tir.ir.stmt import LetStmt, Stmt, Store
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import bound_vars, free_vars, sub_statements, substitute, walk
from verified_tir.kernel.rules.bind import Bind, Inline
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.rewrite import ExprPath
from verified_tir.kernel.rules.scope import Declare
from verified_tir.schedule import codes
from verified_tir.schedule.edits import parts
from verified_tir.schedule.rule_builders import labelled
from verified_tir.schedule.session import Session, fail
from verified_tir.schedule.tactics.inline import replace_with


def bind_expr(session: Session, block: str, expression: str, name: str, scope: str | None = None) -> Var | Buffer:
    """Name an expression by its text, for all its occurrences in a block; gives the variable, or the buffer.

    :param scope: keep the value in a local buffer of one element in this memory scope; without it a let binds it.
    """
    label, _ = session.block(block)
    value = _expression(session, (*label, 0), expression)
    path = _place(session, (*label, 0), value)
    if scope is None:
        var = Var.fresh(name, value.dtype)
        if not session.attempt(Bind(path, var, value)):
            session.apply(Bind(path, var, value, replace=False))
            _put_in(session, (*path, 0), value, var)
        return var
    if value.dtype.lanes > 1:
        raise fail(f"{expression} has {value.dtype.lanes} lanes; a buffer keeps a scalar", path, code=codes.VECTORS)
    buffer = Buffer.declare(name, (1,), value.dtype, scope=scope)
    zero = (const(0),)
    session.apply(Declare(path, buffer))
    session.apply(Insert((*path, 0), Store(buffer, value, zero)))
    session.apply(labelled((*path, 0, 0), name))
    _put_in(session, (*path, 0), value, Load(buffer, zero), first=1)
    return buffer


def inline_let(session: Session, name: str) -> None:
    """Put the value of the let of a name back wherever the name occurs; the let goes."""
    found = [(p, e) for p, e in _lets(session.func.body) if e.var.name == name]
    if len(found) != 1:
        raise fail(
            f"there {'is no let' if not found else f'are {len(found)} lets'} called {name!r}",
            code=codes.NOTHING_OF_THAT_NAME,
        )
    (path, where), let = found[0]
    if isinstance(let, LetExpr):
        replace_with(session, path, where, substitute(let.body, {let.var: let.value}))
        return
    if session.attempt(Inline(path)):
        return
    _put_in(session, (*path, 0), let.var, let.value)
    session.apply(Inline(path))


def _lets(root: Stmt) -> Iterator[tuple[tuple[Path, ExprPath], LetStmt | LetExpr]]:
    for path, stmt in places(root, lambda s: True):
        if isinstance(stmt, LetStmt):
            yield (path, ()), stmt
        for where, e in parts(stmt):
            if isinstance(e, LetExpr):
                yield (path, where), e


def _put_in(session: Session, path: Path, old: Expr, new: Expr, first: int = 0) -> None:
    """Rewrite every occurrence of an expression at or below a place.

    :param first: the statement of the sequence there to begin with.
    :raises TacticFailed: if it has another value at one of them.
    """
    while True:
        found = next(
            (
                (where, at)
                for where, stmt in places(session.stmt(path), lambda s: True)
                if not where or where[0] >= first
                for at, e in parts(stmt)
                if e is old
            ),
            None,
        )
        if found is None:
            return
        where, at = found
        replace_with(session, (*path, *where), at, new)


def _expression(session: Session, path: Path, text: str) -> Expr:
    """The expression of a text at or below a place.

    :raises TacticFailed: if there is none, or different ones (their variables have one name, but are others).
    """
    wanted = _read(text)
    if wanted is None:
        raise fail(f"{text!r} is not an expression that can be read", path, code=codes.NOTHING_OF_THAT_NAME)
    found: dict[Expr, None] = {}
    others: dict[str, None] = {}
    for _, stmt in places(session.stmt(path), lambda s: True):
        for _, e in parts(stmt):
            shown = script(e)
            printed = _read(shown)
            if printed is not None and _says(wanted, printed):
                found[e] = None
            others[shown] = None
    if not found:
        raise fail(
            f"there is no expression {text} in the block; there are {', '.join(list(others)[:8])}",
            path,
            code=codes.NOTHING_OF_THAT_NAME,
        )
    if len(found) > 1:
        raise fail(
            f"{text} stands there for {len(found)} expressions of different variables",
            path,
            code=codes.NOTHING_OF_THAT_NAME,
        )
    return next(iter(found))


def _read(text: str) -> ast.expr | None:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None


def _says(wanted: ast.AST, shown: ast.AST) -> bool:
    """Whether a person's text means what was printed: constants need no type, and a cast may be written in either form.

    Brackets, blanks and quotation marks are gone where texts have become trees.
    """
    constant, other = _constant(shown), _constant(wanted)
    if constant is not None:
        return other is not None and _same_constant(*other, *constant)
    one, two = _cast(wanted), _cast(shown)
    if type(one) is not type(two):
        return False
    for name in one._fields:
        if name == "ctx":
            continue
        x, y = getattr(one, name), getattr(two, name)
        xs, ys = (x, y) if isinstance(x, list) and isinstance(y, list) else ([x], [y])
        if len(xs) != len(ys):
            return False
        for e, g in zip(xs, ys, strict=True):
            if isinstance(e, ast.AST) and isinstance(g, ast.AST):
                if not _says(e, g):
                    return False
            elif e != g:
                return False
    return True


def _constant(e: ast.AST) -> tuple[float | str, str] | None:
    """A number and its type (``""`` if it is not said): ``0.5``, ``-1``, ``T.float32(0.5)``, ``T.float32("inf")``."""
    match e:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() | float() as number):
            return number, ""
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number, ""
        case ast.Call(func=ast.Attribute(value=ast.Name(id="T"), attr=name), args=[argument]) if is_dtype_name(name):
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                return argument.value, name
            inner = _constant(argument)
            return None if inner is None or inner[1] else (inner[0], name)
    return None


def _same_constant(value: float | str, dtype: str, shown: float | str, its_dtype: str) -> bool:
    """A float is the same if it is when rounded to the type: 1e-5 is printed with all the digits of a float32."""
    if not its_dtype:
        return dtype in ("", "int32") and isinstance(value, int) and value == shown
    if dtype not in ("", its_dtype) or ("int" in its_dtype and not isinstance(value, int)):
        return False
    try:
        one, two = (const(float(v) if isinstance(v, str) else v, its_dtype) for v in (value, shown))
    except (IRError, ValueError, OverflowError):
        return False
    return one is two


def _cast(e: ast.AST) -> ast.AST:
    """``T.cast(x, "int32")`` in the form in which casts are printed, ``T.Cast("int32", x)``."""
    match e:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="T") as t, attr="cast"), args=[x, dtype], keywords=[]):
            return ast.Call(ast.Attribute(t, "Cast", ast.Load()), [dtype, x], [])
    return e


def _place(session: Session, path: Path, value: Expr) -> Path:
    """The outermost statement at or below a place that holds all occurrences of a value and binds none of its
    variables."""
    wanted = set(free_vars(value))
    while True:
        stmt = session.stmt(path)
        holding = [k for k, sub in enumerate(sub_statements(stmt)) if any(n is value for n in walk(sub))]
        if not wanted & set(bound_vars(stmt)):
            return path
        if len(holding) != 1:
            raise fail(
                "the expression stands in several statements, each of which binds a variable of its own",
                path,
                code=codes.NOT_OF_THIS_FORM,
            )
        path = (*path, holding[0])
