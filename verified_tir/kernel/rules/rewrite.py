"""Replace expressions by equal ones; redirect accesses to another view: reshapes, pointer casts, bools as bytes.

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
term may go, and both sides change places.  Any other edit leaves all terms as they are, if it is right for the trees
that the run's sums have: so whatever holds in that run may be used.

If the statement makes an opaque call itself, its loads may come after that: nothing is known of what they see, nor of
whether two of them see the same, so what leads to a place is not used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias, final

from verified_tir import ir
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


def expressions(node: ir.Node) -> list[ir.Expr]:
    """Direct sub-expressions of a statement or expression, binders, buffers and sub-statements excluded."""
    binder = getattr(node, "var", None)
    return [c for c in ir.children(node) if isinstance(c, ir.Expr) and c is not binder]


def with_expressions(node: ir.Node, new: Mapping[int, ir.Expr]) -> ir.Node:
    """``node`` with other direct sub-expressions at some positions."""
    binder = getattr(node, "var", None)
    parts = iter([new.get(k, e) for k, e in enumerate(expressions(node))])
    return ir.map_children(node, lambda c: next(parts) if isinstance(c, ir.Expr) and c is not binder else c)


@final
@dataclass(frozen=True, slots=True)
class Edit:
    """In the statement at ``path``, the expression at ``where`` becomes ``new``.

    If ``where`` is empty, the statement is a store, and goes to the element that ``new`` loads.
    """

    path: ir.Path
    where: ExprPath
    new: ir.Expr


@final
@dataclass(frozen=True, slots=True)
class Rewrite:
    """Make edits in the statement at ``path``; the paths of the edits are relative to it."""

    path: ir.Path
    edits: tuple[Edit, ...]

    def rewrite(self, before: ir.PrimFunc, entry: Entry) -> Rewritten:
        new, edits, owed = ir.at(before.body, self.path), dict[ir.Path, dict[ExprPath, ir.Expr]](), list[Question]()
        for e in self.edits:
            ir.at(new, e.path)
            edits.setdefault(e.path, {})[e.where] = e.new
        for path, stmt, here in context_at(before, self.path, entry).places(new, wanted=edits):
            if path in edits:
                edited = _Place(here.fork(), stmt, (*self.path, *path), owed).edited(stmt, edits[path])
                assert isinstance(edited, ir.Stmt)
                new = ir.put(new, path, edited)  # what lies within is edited later
        return Rewritten(before.with_body(ir.put(before.body, self.path, new)), owed)


@final
class _Place:
    """A statement and what is known where it evaluates its expressions, and what its edits owe."""

    def __init__(self, context: Context, stmt: ir.Stmt, path: ir.Path, owed: list[Question]) -> None:
        self.context, self.stmt, self.path, self.owed = context, stmt, path, owed
        if isinstance(stmt, ir.While):
            context.ran(stmt)  # its condition is evaluated in every iteration
        # What is stored to a licensed block, and what is bound and may be put in there, are terms of a sum.
        stored = isinstance(stmt, ir.Store) and stmt.buffer.data in context.entry.licensed
        self.sums = stored or isinstance(stmt, ir.LetStmt)
        self.calls = [context.evaluated(e) for e in expressions(stmt) if opaque_calls(e)]
        if not self.sums:  # no term changes
            self.context = replace(context, given_trees=True)

    def edited(self, node: ir.Node, edits: Mapping[ExprPath, ir.Expr], premises: tuple[Term, ...] = ()) -> ir.Node:
        """The statement, or an expression of it, after its edits."""
        if () in edits and isinstance(node, ir.Expr):
            return self.replaced(node, edits[()], premises)
        parts, found = expressions(node), dict[int, ir.Expr]()
        for step in dict.fromkeys(where[0] for where in edits if where):
            if not 0 <= step < len(parts):
                raise Misfit("there is no such expression in the statement")
            inner = {where[1:]: e for where, e in edits.items() if where[:1] == (step,)}
            leading = leading_to(self.context.fork() if self.calls else self.context, node, step)
            given = () if self.calls else (*premises, *leading)
            found[step] = self.edited(parts[step], inner, given)  # type: ignore[assignment]
        new = with_expressions(node, found)
        if self.turns(node, new) or (
            isinstance(node, (ir.LetExpr, ir.LetStmt)) and self.turns(node.value, found.get(0))
        ):
            raise Misfit("there would be index arithmetic where data was before: what wrapped would overflow")
        return self.redirected(node, new, edits[()]) if () in edits else new

    def turns(self, old: ir.Node, new: ir.Node | None) -> bool:
        """Whether an operation would turn from data, which wraps, to index arithmetic, whose overflow is undefined."""
        if not isinstance(new, ir.Expr):
            return False
        assert isinstance(old, ir.Expr)
        data = {v for v, e in self.context.env.items() if e.data}
        return ir.is_index(new, data) and not ir.is_index(old, data)

    def replaced(self, old: ir.Expr, new: ir.Expr, premises: tuple[Term, ...]) -> ir.Node:
        """The new expression, which is safe, and as defined as the old one, with the same bits."""
        if old.dtype is not new.dtype:
            raise Misfit(f"the old expression has type {old.dtype}, the new one {new.dtype}")
        if isinstance(self.stmt, ir.Assume) and any(isinstance(n, ir.Undef) for n in ir.walk(old)):
            raise Misfit("in an assumption, `x == undef` is not a comparison that could be replaced")
        to = new.value if isinstance(new, ir.Cast) else new  # a bool, of its byte; a cast to its own type is none
        if isinstance(old, ir.Load) and isinstance(to, ir.Load) and to.buffer is not old.buffer and _one_block(old, to):
            self.same_element(old, to, "the load of {} reads where the one of {} did", premises)
        else:
            was, now, known = self.both(old, new, premises)
            goal = f.and_(f.eq(was.value, now.value), now.defined)
            same = was.value is now.value or (isinstance(old, ir.Binary) and new is ir.Binary(old.op, old.b, old.a))
            if self.sums and not same and not self.context.usable(now.value):
                if not self.stores_itself(old, new):
                    return self.edited(old, _parts(old, new), premises)
                goal = adds_nothing(was.value, now.value)  # then they are equal, and as defined
            claim = (new, " equals ", old)
            self.owed.append(Question("equal", claim, self.context, (*known, was.defined), goal, self.path))
        return ir.refresh_binders(new)[0]

    def stores_itself(self, old: ir.Expr, new: ir.Expr) -> bool:
        """Whether the element that is stored to is to be stored, in place of all that was."""
        own = self.stmt
        return isinstance(own, ir.Store) and old is own.value and new is ir.Load(own.buffer, own.indices, own.predicate)

    def redirected(self, old: ir.Node, new: ir.Node, to: ir.Expr) -> ir.Store:
        """The store, its expressions edited, to the element that ``to`` loads: the one to which it went before."""
        if not (isinstance(old, ir.Store) and isinstance(to, ir.Load)):
            raise Misfit("the place names no expression, and no store that could go to another element")
        assert isinstance(new, ir.Store)
        target, value = ir.Load(old.buffer, old.indices, old.predicate), new.value
        to = ir.Load(to.buffer, to.indices, old.predicate)
        if not _one_block(target, to):
            raise Misfit(f"{to.buffer.name} is not a view of the block of {old.buffer.name} at type {old.buffer.dtype}")
        if old.buffer.dtype.is_bool and not to.buffer.dtype.is_bool:
            value = ir.Cast(ir.INT8.with_lanes(value.dtype.lanes), value)
        moved = ir.Store(to.buffer, value, to.indices, new.predicate)
        self.same_element(target, to, "the store to {} goes where the one to {} went")
        return moved

    def same_element(self, old: ir.Load, new: ir.Load, claim: str, premises: tuple[Term, ...] = ()) -> None:
        """Two accesses under one mask are of the same bytes, lane by lane."""
        if new.buffer not in self.context.views[old.buffer.data]:
            raise Misfit(f"buffer {new.buffer.name} is not declared here")
        was, now, known = self.both(old, new, premises)
        known = (*known, *self.context.encoder().access(old, self.lane)[2])
        said, goal = claim.format(new.buffer.name, old.buffer.name), equal(was.value.args, now.value.args)
        self.owed.append(Question("view", said, self.context, known, goal, self.path))

    def both(
        self, old: ir.Expr, new: ir.Expr, premises: tuple[Term, ...] = ()
    ) -> tuple[Encoded, Encoded, tuple[Term, ...]]:
        """What both are (an arbitrary lane of them, if they have several), and what is known; the new one is safe."""
        self.lane = self.context.any_lane(old)
        was_safe, is_safe = list[Safety](), list[Safety]()
        was = self.context.encoder(was_safe).encode(old, self.lane)
        now = self.context.encoder(is_safe).encode(new, self.lane)
        known = (*premises, *(f.implies(f.and_(*s.premises), s.condition) for s in was_safe))
        self.owed.extend(safe_questions(self.context, is_safe, known, self.path))
        return was, now, known


def leading_to(context: Context, node: ir.Node, step: int) -> tuple[Term, ...]:
    """What holds where a direct sub-expression is evaluated; a let on the way is bound in ``context``."""
    match node:
        case ir.Call(op=op) if not ir.is_pure(op):
            raise Misfit(f"{op} may take its argument by address and not by value")
        case ir.Binary(op="and", a=c) if step == 1 and c.dtype.lanes == 1:
            return (context.encoder().claim(c).value,)
        case ir.Binary(op="or", a=c) if step == 1 and c.dtype.lanes == 1:
            return (f.not_(context.encoder().claim(c).value),)
        case ir.IfThenElse(condition=c) if step > 0:
            value = context.encoder().value(c)
            return (value if step == 1 else f.not_(value),)
        case ir.LetExpr(var=v, value=bound) if v.dtype.lanes == 1:
            context.env[v] = context.encoder().encode(bound)
    return ()


def _parts(old: ir.Expr, new: ir.Expr) -> dict[ExprPath, ir.Expr]:
    """The edits of direct sub-expressions that make one expression of another.

    :raises Misfit: if there are none.
    """
    mine, theirs = expressions(old), expressions(new)
    if len(mine) != len(theirs) or with_expressions(old, dict(enumerate(theirs))) is not new:
        raise Misfit("the new expression reads what a licence leaves open, and in another way than the old one")
    return {(k,): e for k, e in enumerate(theirs) if e is not mine[k]}


def _one_block(old: ir.Load, new: ir.Load) -> bool:
    """Whether two accesses are, under one mask, of elements of one block, and of one type, or of bools and bytes."""
    a, b = old.buffer, new.buffer
    alike = a.dtype.scalar is b.dtype.scalar or (a.dtype.is_bool and b.dtype.scalar is ir.INT8)
    return a.data is b.data and old.predicate is new.predicate and alike
