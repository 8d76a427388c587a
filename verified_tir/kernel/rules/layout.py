"""Layout maps, which move every element x of a buffer to φ(x): shared by ``couple``, ``relayout`` and ``stage``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, final

from verified_tir import ir
from verified_tir.kernel.access import equal
from verified_tir.kernel.context import Context
from verified_tir.kernel.effects import opaque_calls
from verified_tir.kernel.obligation import Misfit, Question
from verified_tir.kernel.region import instance
from verified_tir.kernel.rules.common import evaluated_safely, safe_questions
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import fresh

N = TypeVar("N", ir.Expr, ir.Stmt)


@final
@dataclass(frozen=True, slots=True)
class LayoutMap:
    """φ with its witness: ``outputs`` over ``inputs``, ``inverse`` over ``inverse_inputs``, and the new shape.

    ``padding`` is true, over ``inverse_inputs``, where no element of the old box lives.
    """

    inputs: tuple[ir.Var, ...]
    outputs: tuple[ir.Expr, ...]
    inverse_inputs: tuple[ir.Var, ...]
    inverse: tuple[ir.Expr, ...]
    shape: tuple[ir.Expr, ...]
    padding: ir.Expr

    def check(self, old: ir.Buffer, new: ir.Buffer, context: Context) -> None:
        """That the map leads from indices of ``old`` to indices of ``new``, its inverse back, and that in ``context``
        their variables have a meaning.

        :raises IRError: if not.
        """
        for b, indices in ((old, self.inputs), (new, self.outputs), (new, self.inverse_inputs), (old, self.inverse)):
            if [i.dtype for i in ir.Load(b, indices).indices] != [n.dtype for n in b.shape]:
                raise Misfit(f"an index of the map has another type than the extent of {b.name}")
        if self.padding.dtype is not ir.BOOL:
            raise Misfit(f"the map's padding has type {self.padding.dtype}; a bool is wanted")
        if any(len({*variables}) < len(variables) for variables in (self.inputs, self.inverse_inputs)):
            raise Misfit("two indices of the map have one variable")
        for v in (*self.inputs, *self.inverse_inputs):
            if v in context.env:  # what is stated of padding would mean an index where it meant the program's variable
                raise Misfit(f"the map's variable {v.name} is one of the program")
        for exprs, variables in ((self.outputs, self.inputs), ((*self.inverse, self.padding), self.inverse_inputs),
                                 (self.shape, ())):  # fmt: skip
            if any(map(ir.bound_vars, exprs)):  # it could capture what is put in for an index, when maps are composed
                raise Misfit("the map binds a variable")
            if opaque_calls(*exprs):  # a copy of what nobody touches would make it
                raise Misfit("the map makes an opaque call")
            for v in (
                v for e in exprs for v in ir.nodes_of(e, ir.Var)
            ):  # a load mentions the pointer of its buffer, too
                if v not in variables and v not in context.env:
                    raise Misfit(f"the map mentions {v.name}, which is not in scope")

    def successor(self, old: ir.Buffer, context: Context, separators: tuple[int, ...]) -> ir.Buffer:
        """The buffer that takes the place of ``old``.

        :raises IRError: if the map does not fit, or other views of the block would have to move, too.
        """
        if context.several_views(old.data):
            raise Misfit(f"{old.name} has other views or strides; they would have to move with it")
        new = ir.Buffer.fresh(old.name, old.dtype, self.shape, old.scope, separators)
        self.check(old, new, context)
        return new

    def move(self, node: N, old: ir.Buffer, new: ir.Buffer, *, stores: bool = True) -> N:
        """Every access of ``old`` (or every read) becomes one of ``new``.

        Whatever else uses ``old`` has lost its block: no rule leads to such a program.

        :raises Misfit: where an access by vector index has no counterpart, or φ would repeat or drop an opaque call.
        """

        def visit(n: ir.Node) -> ir.Node | None:
            if not (isinstance(n, (ir.Load, ir.Store)) and n.buffer is old and (stores or isinstance(n, ir.Load))):
                return None
            if opaque_calls(*n.indices):
                raise Misfit(f"an opaque call is an index of {old.name}: the map may repeat it; bind it by a let first")
            return replace(n, buffer=new, indices=self.apply(n.indices))

        return ir.rewrite(node, visit)

    def apply(self, indices: tuple[ir.Expr, ...]) -> tuple[ir.Expr, ...]:
        """φ of an index tuple, lane by lane: the last output, in which whatever is not a vector is broadcast.

        :raises IRError: if lanes would run over no index or over another one, or φ does more than arithmetic.
        """
        for v, i in zip(self.inputs, indices, strict=True):  # what an operator gives depends on its operands' types
            if i.dtype.scalar is not v.dtype and any(v in ir.nodes_of(e, ir.Var) for e in self.outputs if e is not v):
                raise ir.IRError("an index has another type than the map's variable that it stands for")
        mapping: dict[ir.Node, ir.Expr] = dict(zip(self.inputs, indices, strict=True))
        lanes = indices[-1].dtype.lanes if indices else 1
        if lanes == 1:
            return tuple(ir.rewrite(e, mapping.get) for e in self.outputs)
        if not self.outputs or not all(
            isinstance(n, (ir.Var, ir.IntImm, ir.Binary)) for n in ir.walk(self.outputs[-1])
        ):
            raise ir.IRError("the map has no lanes here; change the layout before vectorizing")

        def in_lanes(n: ir.Node) -> ir.Expr:
            e = mapping.get(n, n)
            assert isinstance(e, ir.Expr)
            return e if e.dtype.lanes == lanes else ir.Broadcast(e, lanes)

        *leading, last = self.outputs
        return (*[ir.rewrite(e, mapping.get) for e in leading], ir.rewrite(last, in_lanes))

    # -- in the logic ---------------------------------------------------------------------------------------------

    def image(self, context: Context, xs: Sequence[Term]) -> list[Term]:
        """The terms of φ(x)."""
        return values(context.bound(self.inputs, xs), self.outputs)

    def origin(self, context: Context, ys: Sequence[Term]) -> list[Term]:
        """The terms of ψ(y)."""
        return values(context.bound(self.inverse_inputs, ys), self.inverse)

    def padded(self, context: Context, ys: Sequence[Term]) -> Term:
        """The formula that no element is mapped to y."""
        return context.bound(self.inverse_inputs, ys).encoder().value(self.padding)

    def coupled(
        self, context: Context, old: ir.Buffer, xs: Sequence[Term], given: tuple[Term, ...], path: ir.Path, kind: str,
        *, alone: bool = True,
    ) -> Iterator[Question]:  # fmt: skip
        """An element x of ``old``, of some ``kind``, has a place: φ is safe at x and within the new shape.  If it is
        there ``alone``, no other such element is mapped to φ(x), since the inverse leads back from there to x."""
        given = (*given, in_box(context, xs, old.shape))
        yield from evaluated_safely(context.bound(self.inputs, xs), self.outputs, given, path)
        ys = self.image(context, xs)
        claim = f"every {kind} of {old.name} lies within the new shape"
        yield Question("layout", claim, context, given, in_box(context, ys, self.shape), path)
        if alone:
            claim = f"no two {kind}s of {old.name} are mapped to the same place"
            yield Question("layout", claim, context, given, equal(self.origin(context, ys), xs), path)

    def whole(self, context: Context, old: ir.Buffer, path: ir.Path) -> Iterator[Question]:
        """Questions whether every element of ``old`` is mapped to a place of its own."""
        xs, here = anywhere(context, self.inputs, old.shape)
        yield from self.coupled(here, old, xs, (), path, "element")

    def exact(self, context: Context, old: ir.Buffer, path: ir.Path) -> Question:
        """``padding`` holds exactly at those places of the new shape that are no φ(x)."""
        ys, here = anywhere(context, self.inverse_inputs, self.shape)
        xs = self.origin(here, ys)
        hit = f.and_(in_box(here, xs, old.shape), equal(self.image(here, xs), ys))
        claim = f"the padding of {old.name} is exactly where no element is mapped"
        return Question("layout", claim, here, (), f.eq(self.padded(here, ys), f.not_(hit)), path)


def values(context: Context, exprs: Sequence[ir.Expr]) -> list[Term]:
    return [context.encoder().value(e) for e in exprs]


def in_box(context: Context, indices: Sequence[Term], shape: tuple[ir.Expr, ...]) -> Term:
    """That indices are those of an element of a buffer of this shape."""
    extents = values(context, shape)
    return f.and_(*[f.between(f.integer(0), i, n) for i, n in zip(indices, extents, strict=True)])


def over_box(variables: tuple[ir.Var, ...], shape: tuple[ir.Expr, ...], body: ir.Stmt) -> ir.Stmt:
    """The loops over the indices in ``[0, shape)``, around ``body``."""
    for v, extent in reversed(list(zip(variables, shape, strict=True))):
        body = ir.For(v, ir.const(0, v.dtype), extent, body)
    return body


def anywhere(context: Context, variables: tuple[ir.Var, ...], shape: tuple[ir.Expr, ...]) -> tuple[list[Term], Context]:
    """An unknown index in ``[0, shape)`` for each variable, called as it is, and the context that says so."""
    here = context.fork()
    terms = [fresh(v.name, f.INT) for v in variables]
    here.path.append(in_box(context, terms, shape))
    return terms, here


def masked_lanes_safe(context: Context, moved: ir.Stmt, new: ir.Buffer, path: ir.Path) -> Iterator[Question]:
    """φ can be evaluated in masked lanes, too: their elements need not exist, but their indices are evaluated.

    :param moved: the statement in which φ was applied; ``new`` is alive in ``context`` or allocated by it.
    """
    masked = [
        n for n in ir.walk(moved) if isinstance(n, (ir.Load, ir.Store)) and n.buffer is new and n.predicate is not None
    ]
    loads = {ir.Load(new, n.indices, n.predicate) for n in masked}
    evaluated = {e for n in masked for i in n.indices for e in ir.walk(i)}
    if masked:
        run = instance(context, moved)
        for place, safety in run.safety:
            if safety.expr in evaluated or (safety.expr in loads and safety.kind == "an index that is undef"):
                yield from safe_questions(run.context, (safety,), (), (*path, *place))
