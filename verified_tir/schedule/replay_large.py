"""Replays at sizes for which no arrays can be made: the index arithmetic of a program, run alone.

That ``n * 4`` overflows shows only where n is large, and an array of n elements may then be too large to fill.  But
whether it overflows does not depend on what the arrays hold.  So a *skeleton* of the program is run, without any
memory: of each statement there is left what it evaluates anyway that loads nothing; of each loop one iteration, of
those that it makes; a branch on what memory holds is left out, and so is a let of it.  What is undefined behaviour of
the skeleton is undefined behaviour of the program, since that belongs to the whole run, whenever it occurs.

A program that may end early (an assertion, a ``while`` loop, an opaque call), or that assumes something more than
conditions on its sizes at its very beginning, has no skeleton.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from verified_tir.ir.calls import is_pure
from verified_tir.ir.expr import Binary, Call, Expr, IfThenElse, IntImm, LetExpr, Load, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.stmt import (
    Allocate,
    Assert,
    Assume,
    AttrStmt,
    Block,
    DeclBuffer,
    Evaluate,
    For,
    If,
    LetStmt,
    Seq,
    Stmt,
    Store,
    While,
    seq,
)  # fmt: skip
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import children, nodes_of, sub_statements, walk
from verified_tir.kernel.begin import LARGEST
from verified_tir.schedule.replay_inputs import Sizes, extents_of, symbols
from verified_tir.semantics.interpreter import Stopped, UndefinedBehaviour, run


def undefined_at(func: PrimFunc, sizes: Sizes, model: Mapping[str, int]) -> UndefinedBehaviour | None:
    """Undefined behaviour of a program that its index arithmetic alone shows, at some iteration of each loop.

    Tried are the values that ``model`` has for loop variables, the first iterations, and the last ones.
    """
    if not plain(func):
        return None
    params = tuple(v for v in symbols(func) if v.name in sizes)
    extents = [Evaluate(e) for b in func.buffers for e in b.shape]
    given = {v.name: sizes[v.name] for v in params}
    for body in (_Skeleton(model, k).of(func.body) for k in range(3)):
        try:
            run(PrimFunc(func.name, params, (), seq(*extents, *body)), given, max_steps=1000)
        except UndefinedBehaviour as ub:
            return ub
        except (Stopped, IRError, ValueError, OverflowError):
            continue
    return None


def arrays_exist(func: PrimFunc, sizes: Sizes) -> bool:
    """Whether there are arguments of these sizes, were there memory enough, that meet what the program assumes."""
    extents = extents_of(func, sizes)
    if extents is None or any(d > LARGEST[32] for dims in extents.values() for d in (*dims, prod(dims))):
        return False
    try:
        params = tuple(v for v in symbols(func) if v.name in sizes)
        run(PrimFunc(func.name, params, (), seq(*_assumed_at_once(func))), {v.name: sizes[v.name] for v in params})
    except (IRError, Stopped, ValueError, OverflowError):
        return False
    return True


def _assumed_at_once(func: PrimFunc) -> list[Assume]:
    """Conditions on sizes that the program assumes at its very beginning."""
    body = func.body.stmts if isinstance(func.body, Seq) else (func.body,)
    return [s for s in body if isinstance(s, Assume) and not _loads(s.condition)]


def plain(func: PrimFunc) -> bool:
    """Whether the program runs to its end, assuming nothing but conditions on its sizes, and these at once."""
    at_once = _assumed_at_once(func)
    for n in walk(func.body):
        if isinstance(n, (Assert, While)) or (isinstance(n, Block) and not n.is_label):
            return False
        if (isinstance(n, Assume) and n not in at_once) or (isinstance(n, Call) and not is_pure(n.op)):
            return False
    return True


class _Skeleton:
    """What a program evaluates without memory, one iteration a loop: the model's, the first (1), or the last (2)."""

    def __init__(self, model: Mapping[str, int], choice: int) -> None:
        self.model, self.choice = model, choice

    def of(self, stmt: Stmt) -> Iterator[Stmt]:
        """The statements that are left of one."""
        match stmt:
            case Store(value=value, indices=indices):
                yield from evaluated((*indices, value))
            case Evaluate(value=value):
                yield from evaluated((value,))
            case Assume():
                pass
            case For():
                yield from self._iteration(stmt)
            case If(condition=c, then_body=a, else_body=b):
                yield from evaluated((c,))
                if not _loads(c):
                    yield If(c, seq(*self.of(a)), None if b is None else seq(*self.of(b)))
            case LetStmt(var=v, value=value, body=body):
                yield from evaluated((value,))
                if not _loads(value):
                    yield LetStmt(v, value, seq(*self.of(body)))
            case Allocate(buffer=b) | DeclBuffer(buffer=b):
                yield from evaluated((*b.shape, *b.strides, b.elem_offset))
                yield from self.of(stmt.body)
            case Seq() | AttrStmt() | Block():
                for sub in sub_statements(stmt):
                    yield from self.of(sub)
            case _:
                raise AssertionError(stmt)

    def _iteration(self, loop: For) -> Iterator[Stmt]:
        yield from evaluated((loop.min, loop.extent))
        if _loads(loop.min) or _loads(loop.extent):
            return
        last = Binary("add", loop.min, Binary("sub", loop.extent, const(1, loop.extent.dtype)))
        value: Expr = last if self.choice == 2 else loop.min
        if self.choice == 0 and loop.var.name in self.model:
            value = IntImm(loop.var.dtype, self.model[loop.var.name])
        runs = Binary("gt", loop.extent, const(0, loop.extent.dtype))
        inside = Binary("and", Binary("le", loop.min, value), Binary("le", value, last))
        yield If(Binary("and", runs, inside), LetStmt(loop.var, value, seq(*self.of(loop.body))))


def evaluated(exprs: Sequence[Expr]) -> Iterator[Stmt]:
    """The largest parts of some expressions that are evaluated whenever they are, and load nothing."""
    for e in exprs:
        if not _loads(e):
            if not isinstance(e, (Var, IntImm)):
                yield Evaluate(e)
            continue
        if isinstance(e, IfThenElse) or (isinstance(e, Binary) and e.op in ("and", "or")):
            yield from evaluated((e.condition if isinstance(e, IfThenElse) else e.a,))
        elif isinstance(e, LetExpr):
            yield from evaluated((e.value,))
        else:
            yield from evaluated([c for c in children(e) if isinstance(c, Expr)])


def _loads(e: Expr) -> bool:
    return bool(nodes_of(e, Load))
