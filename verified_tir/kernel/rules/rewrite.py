"""Expressions become others; accesses go through another view: reshapes, pointer casts, bools as bytes.

    … old …                 ⟶      … new …
    … B[x] …, B[x] = v      ⟶      … V[y] …, V[y] = v
    … B[x] …, B[x] = v      ⟶      … bool(V[y]) …, V[y] = int8(v)         (bools as bytes)

Theorem (expressions).  At this place, in every run without undefined behaviour, ``new`` is safe, and where ``old`` is
defined, so is ``new``, with the same bits.  Statements are monotone in definedness, so the run goes on at least as
defined.  The old expression was evaluated here, so that it was safe may be used.  Where the expression stands in the
lazy part of ``and``, ``or`` or ``if_then_else``, what leads there may be used too: the condition was defined, or the
branch was undefined behaviour, so it is the same condition in both programs, whatever else is edited.

Theorem (accesses).  A view is a way to name the bytes of a block (``scope`` declares one).  If y, in V, names the same
bytes as x in B, lane by lane, and the element lies in V and in the block, then the access is the same access.  The
scalar types must be equal; the lanes of an element may differ (four elements of a ``float32`` view are one element of a
``float32x4`` view).

Theorem (bools as bytes).  A bool is kept as one byte, 1 if it is true and 0 if not: so a store of v leaves the byte
``int8(v)``, undefined if v is.  What B reads is ``bool(V[y])``, or undef if the byte is neither 0 nor 1, and undef may
become anything.  Not the other way round: ``int8(bool(b))`` is not always b.

Many edits are one step.  All is owed of the old program's run: up to a place the new program does the same, in a memory
at least as defined, and what is owed is monotone too.  Where one edit lies within another, the outer one counts.

What is stored to a licensed block (see ``open_bits``), or bound by a let, and reads what the licence leaves open, is
the old expression part by part, or the same element: ``B[0] = a + b`` does not become ``B[0] = B[0] + b``, though B[0]
be a; b would be a term of its own then, that another order may part from a.  A neutral
term may go, and both sides change places.

If the statement makes an opaque call itself, its loads may come after that: nothing is known of what they see, nor of
whether two of them see the same, so what leads to a place is not used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias, final

from verified_tir.ir.calls import is_pure
from verified_tir.ir.dtype import INT8
from verified_tir.ir.expr import Binary, Call, Cast, Expr, IfThenElse, LetExpr, Load, Undef
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.index_arith import is_index
from verified_tir.ir.node import Node
from verified_tir.ir.paths import Path, at, put
from verified_tir.ir.stmt import Assume, LetStmt, Stmt, Store, While
from verified_tir.ir.visit import children, map_children, refresh_binders, walk
from verified_tir.kernel.access import equal
from verified_tir.kernel.begin import context_at
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import opaque_calls
from verified_tir.kernel.memory import Entry
from verified_tir.kernel.obligation import Misfit, Question
from verified_tir.kernel.open_bits import adds_nothing
from verified_tir.kernel.rules.common import safe_questions
from verified_tir.kernel.step import Rewrite as Rewritten
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Encoded, Safety

ExprPath: TypeAlias = tuple[int, ...]
"""Positions among the direct expressions of a statement (or of an expression), outermost first."""


def expressions(node: Node) -> list[Expr]:
    """Direct sub-expressions of a statement or expression, binders, buffers and sub-statements excluded."""
    binder = getattr(node, "var", None)
    return [c for c in children(node) if isinstance(c, Expr) and c is not binder]


def with_expressions(node: Node, new: Mapping[int, Expr]) -> Node:
    """``node`` with other direct sub-expressions at some positions."""
    binder = getattr(node, "var", None)
    parts = iter([new.get(k, e) for k, e in enumerate(expressions(node))])
    return map_children(node, lambda c: next(parts) if isinstance(c, Expr) and c is not binder else c)


@final
@dataclass(frozen=True, slots=True)
class Edit:
    """In the statement at ``path``, the expression at ``where`` becomes ``new``.

    If ``where`` is empty, the statement is a store, and goes to the element that ``new`` loads.
    """

    path: Path
    where: ExprPath
    new: Expr


@final
@dataclass(frozen=True, slots=True)
class Rewrite:
    """Make edits in the statement at ``path``; theirs begin there."""

    path: Path
    edits: tuple[Edit, ...]

    def rewrite(self, before: PrimFunc, entry: Entry) -> Rewritten:
        new, edits, owed = at(before.body, self.path), dict[Path, dict[ExprPath, Expr]](), list[Question]()
        for e in self.edits:
            at(new, e.path)
            edits.setdefault(e.path, {})[e.where] = e.new
        for path, stmt, here in context_at(before, self.path, entry).places(new, wanted=edits):
            if path in edits:
                edited = _Place(here.fork(), stmt, (*self.path, *path), owed).edited(stmt, edits[path])
                assert isinstance(edited, Stmt)
                new = put(new, path, edited)  # what lies within is edited later
        return Rewritten(before.with_body(put(before.body, self.path, new)), owed)


@final
class _Place:
    """A statement and what is known where it evaluates its expressions, and what its edits owe."""

    def __init__(self, context: Context, stmt: Stmt, path: Path, owed: list[Question]) -> None:
        self.context, self.stmt, self.path, self.owed = context, stmt, path, owed
        if isinstance(stmt, While):
            context.ran(stmt)  # its condition is evaluated in every iteration
        # What is stored to a licensed block, and what is bound and may be put in there, are terms of a sum.
        stored = isinstance(stmt, Store) and stmt.buffer.data in context.entry.licensed
        self.sums = stored or isinstance(stmt, LetStmt)
        self.calls = [context.evaluated(e) for e in expressions(stmt) if opaque_calls(e)]

    def edited(self, node: Node, edits: Mapping[ExprPath, Expr], premises: tuple[Term, ...] = ()) -> Node:
        """The statement, or an expression of it, after its edits."""
        if () in edits and isinstance(node, Expr):
            return self.replaced(node, edits[()], premises)
        parts, found = expressions(node), dict[int, Expr]()
        for step in dict.fromkeys(where[0] for where in edits if where):
            if not 0 <= step < len(parts):
                raise Misfit("there is no such expression in the statement")
            inner = {where[1:]: e for where, e in edits.items() if where[:1] == (step,)}
            leading = leading_to(self.context.fork() if self.calls else self.context, node, step)
            given = () if self.calls else (*premises, *leading)
            found[step] = self.edited(parts[step], inner, given)  # type: ignore[assignment]
        new = with_expressions(node, found)
        if self.turns(node, new) or (isinstance(node, (LetExpr, LetStmt)) and self.turns(node.value, found.get(0))):
            raise Misfit("there would be index arithmetic where data was before: what wrapped would overflow")
        return self.redirected(node, new, edits[()]) if () in edits else new

    def turns(self, old: Node, new: Node | None) -> bool:
        """Whether an operation would turn from data, which wraps, to index arithmetic, whose overflow is undefined."""
        if not (isinstance(old, Expr) and isinstance(new, Expr)):
            return False
        data = {v for v, e in self.context.env.items() if e.data}
        return is_index(new, data) and not is_index(old, data)

    def replaced(self, old: Expr, new: Expr, premises: tuple[Term, ...]) -> Node:
        """The new expression, which is safe, and as defined as the old one, with the same bits."""
        if old.dtype is not new.dtype:
            raise Misfit(f"the old expression has type {old.dtype}, the new one {new.dtype}")
        if isinstance(self.stmt, Assume) and any(isinstance(n, Undef) for n in walk(old)):
            raise Misfit("in an assumption, `x == undef` is no comparison that could be replaced")
        to = new.value if isinstance(new, Cast) else new  # a bool, of its byte; a cast to its own type is none
        if isinstance(old, Load) and isinstance(to, Load) and to.buffer is not old.buffer and _same_block(old, to):
            self.same_element(old, to, "the load of {} reads where the one of {} did", premises)
        else:
            was, now, known = self.both(old, new, premises)
            goal = f.and_(f.eq(was.value, now.value), now.defined)
            same = was.value is now.value or (isinstance(old, Binary) and new is Binary(old.op, old.b, old.a))
            if self.sums and not same and not self.context.usable(now.value):
                if not self.stores_itself(old, new):
                    return self.edited(old, _parts(old, new), premises)
                goal = f.and_(goal, adds_nothing(was.value, now.value))
            claim = (new, " equals ", old)
            self.owed.append(Question("equal", claim, self.context, (*known, was.defined), goal, self.path))
        return refresh_binders(new)[0]

    def stores_itself(self, old: Expr, new: Expr) -> bool:
        """Whether the element that is stored to is to be stored, in place of all that was."""
        own = self.stmt
        return isinstance(own, Store) and old is own.value and new is Load(own.buffer, own.indices, own.predicate)

    def redirected(self, old: Node, new: Node, to: Expr) -> Store:
        """The store, its expressions edited, to the element that ``to`` loads: the one to which it went before."""
        if not (isinstance(old, Store) and isinstance(new, Store) and isinstance(to, Load)):
            raise Misfit("the place names no expression, and no store that could go to another element")
        target, value = Load(old.buffer, old.indices, old.predicate), new.value
        to = Load(to.buffer, to.indices, old.predicate)
        if not _same_block(target, to):
            raise Misfit(f"{to.buffer.name} is no view of the block of {old.buffer.name} that holds {old.buffer.dtype}")
        if old.buffer.dtype.is_bool and not to.buffer.dtype.is_bool:
            value = Cast(INT8.with_lanes(value.dtype.lanes), value)
        moved = Store(to.buffer, value, refresh_binders(to)[0].indices, new.predicate)
        self.same_element(target, to, "the store to {} goes where the one to {} went")
        return moved

    def same_element(self, old: Load, new: Load, claim: str, premises: tuple[Term, ...] = ()) -> None:
        """Two accesses under one mask are of the same bytes, lane by lane."""
        if new.buffer not in self.context.views[old.buffer.data]:
            raise Misfit(f"buffer {new.buffer.name} is not declared here")
        was, now, known = self.both(old, new, premises)
        known = (*known, *self.context.encoder().access(old, self.lane)[2])
        said, goal = claim.format(new.buffer.name, old.buffer.name), equal(was.value.args, now.value.args)
        self.owed.append(Question("view", said, self.context, known, goal, self.path))

    def both(self, old: Expr, new: Expr, premises: tuple[Term, ...] = ()) -> tuple[Encoded, Encoded, tuple[Term, ...]]:
        """What both are (an arbitrary lane of them, if they have several), and what is known; the new one is safe."""
        self.lane = self.context.any_lane(old)
        was_safe, is_safe = list[Safety](), list[Safety]()
        was = self.context.encoder(was_safe).encode(old, self.lane)
        now = self.context.encoder(is_safe).encode(new, self.lane)
        known = (*premises, *(f.implies(f.and_(*s.premises), s.condition) for s in was_safe))
        self.owed.extend(safe_questions(self.context, is_safe, known, self.path))
        return was, now, known


def leading_to(context: Context, node: Node, step: int) -> tuple[Term, ...]:
    """What holds where a direct sub-expression is evaluated; a let on the way is bound in ``context``."""
    match node:
        case Call(op=op) if not is_pure(op):
            raise Misfit(f"{op} may take its argument by address and not by value")
        case Binary(op="and", a=c) if step == 1 and c.dtype.lanes == 1:
            return (context.encoder().value(c),)
        case Binary(op="or", a=c) if step == 1 and c.dtype.lanes == 1:
            return (f.not_(context.encoder().value(c)),)
        case IfThenElse(condition=c) if step > 0:
            value = context.encoder().value(c)
            return (value if step == 1 else f.not_(value),)
        case LetExpr(var=v, value=bound) if step == 1 and v.dtype.lanes == 1:
            context.env[v] = context.encoder().encode(bound)
    return ()


def _parts(old: Expr, new: Expr) -> dict[ExprPath, Expr]:
    """The edits of direct sub-expressions that make one expression of another.

    :raises Misfit: if there are none.
    """
    mine, theirs = expressions(old), expressions(new)
    if len(mine) != len(theirs) or not mine or with_expressions(old, dict(enumerate(theirs))) is not new:
        raise Misfit("the new expression reads what a licence leaves open, and in another way than the old one")
    return {(k,): e for k, e in enumerate(theirs) if e is not mine[k]}


def _same_block(old: Load, new: Load) -> bool:
    """Whether two accesses are, under one mask, of elements of one block, and of one type, or of bools and bytes."""
    a, b = old.buffer, new.buffer
    alike = a.dtype.scalar is b.dtype.scalar or (a.dtype.is_bool and b.dtype.scalar is INT8)
    return a.data is b.data and old.predicate is new.predicate and alike
