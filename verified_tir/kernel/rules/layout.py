"""Shared by ``relayout`` and ``storage``: moving every element x of a buffer to φ(x)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import final

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Binary, Broadcast, Expr, IntImm, Load, Ramp, Var, binary, const
from verified_tir.ir.node import IRError, Node
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Stmt, Store
from verified_tir.ir.visit import free_vars, rewrite, substitute
from verified_tir.kernel.context import Context
from verified_tir.kernel.obligation import Question
from verified_tir.kernel.region import instance
from verified_tir.kernel.rules.common import evaluated_safely, has_effect, safe_questions
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Encoded


@final
@dataclass(frozen=True, slots=True)
class LayoutMap:
    """φ with its witness: ``outputs`` over ``inputs``, ``inverse`` over ``inverse_inputs``, and the new shape.

    ``padding`` is true, over ``inverse_inputs``, where no element of the old box lives.
    """

    inputs: tuple[Var, ...]
    outputs: tuple[Expr, ...]
    inverse_inputs: tuple[Var, ...]
    inverse: tuple[Expr, ...]
    shape: tuple[Expr, ...]
    padding: Expr

    def problem(self, buffer: Buffer, in_scope: set[Var]) -> str | None:
        """Why the map does not fit the buffer, if it does not."""
        if len(self.inputs) != len(buffer.shape) or len(self.inverse) != len(buffer.shape):
            return f"{buffer.name} has {len(buffer.shape)} dimensions, the map takes {len(self.inputs)}"
        if len(self.outputs) != len(self.shape) or len(self.inverse_inputs) != len(self.shape):
            return "the map's outputs and the new shape differ in rank"
        for v in (*self.inputs, *self.inverse_inputs):
            if v in in_scope:  # what is stated of padding would mean an index where it meant the program's variable
                return f"the map's variable {v.name} is one of the program"
        for exprs, variables in ((self.outputs, self.inputs), ((*self.inverse, self.padding), self.inverse_inputs),
                                 (self.shape, ())):  # fmt: skip
            for e in exprs:
                for v in free_vars(e):
                    if v not in variables and v not in in_scope:
                        return f"the map mentions {v.name}, which is not in scope"
        return None  # nor does any part of it read memory: a load mentions the pointer of its buffer

    def move(self, node: Stmt, old: Buffer, new: Buffer) -> Stmt:
        """Every access of ``old`` becomes one of ``new``.

        :raises IRError: where an access by vector index has no counterpart, or φ would repeat or drop an opaque call.
        """
        if any(has_effect(n.indices) for n in _walk(node) if isinstance(n, (Load, Store)) and n.buffer is old):
            raise IRError(f"an opaque call is an index of {old.name}: the map may repeat it; bind it by a let first")

        def visit(n: Node) -> Node | None:
            match n:
                case Load(buffer=b, indices=indices, predicate=mask) if b is old:
                    return Load(new, self.apply(indices), mask)
                case Store(buffer=b, value=value, indices=indices, predicate=mask) if b is old:
                    return Store(new, value, self.apply(indices), mask)
            return None

        moved = rewrite(node, visit)
        if any(n is old for n in _walk(moved)):
            raise IRError(f"{old.name} is used other than by loads and stores")
        return moved

    def apply(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """φ of an index tuple, lane by lane.

        :raises IRError: if lanes would run over another index than the last or over none, or φ decides by lane what it
            computes.
        """
        mapping = dict(zip(self.inputs, indices, strict=True))
        lanes = indices[-1].dtype.lanes if indices else 1
        if lanes == 1:
            return tuple(substitute(e, mapping) for e in self.outputs)
        if not self.outputs:
            raise IRError("no index would be left for the lanes to run over; change the layout before vectorizing")
        *leading, last = [_in_lanes(e, mapping) for e in self.outputs]
        if any(e.dtype.lanes > 1 for e in leading):
            raise IRError("lanes would run over an index that is not the last; change the layout before vectorizing")
        return (*leading, last if last.dtype.lanes == lanes else Broadcast(last, lanes))

    def questions(self, context: Context, old: Buffer, path: Path) -> Iterator[Question]:
        """φ is injective (with the inverse as witness), in bounds, safe; the padding predicate is exact."""
        xs, x_box, at_x = _box(context, self.inputs, old.shape)
        ys, y_box, at_y = _box(context, self.inverse_inputs, self.shape)
        yield from evaluated_safely(context, self.shape, (), path)
        yield from evaluated_safely(at_x, self.outputs, (), path)
        image = [at_x.encoder().value(e) for e in self.outputs]
        extents = [context.encoder().value(e) for e in self.shape]
        not_negative = f.and_(*[f.le(f.integer(0), n) for n in extents])
        if not_negative is not f.TRUE:
            claim = f"the new extents of {old.name} are not negative"
            yield Question("layout", claim, context, (), not_negative, path)
        inside = f.and_(*[f.between(f.integer(0), y, n) for y, n in zip(image, extents, strict=True)])
        yield Question("layout", f"every element of {old.name} lies within the new shape", at_x, x_box, inside, path)
        back = self._at(context, self.inverse_inputs, image, self.inverse)
        injective = f.and_(*[f.eq(b, x) for b, x in zip(back, xs, strict=True)])
        claim = f"no two elements of {old.name} are mapped to one place"
        yield Question("layout", claim, at_x, x_box, injective, path)
        origin = [at_y.encoder().value(e) for e in self.inverse]
        old_extents = [context.encoder().value(e) for e in old.shape]
        in_old = f.and_(*[f.between(f.integer(0), x, n) for x, n in zip(origin, old_extents, strict=True)])
        again = self._at(context, self.inputs, origin, self.outputs)
        hit = f.and_(in_old, *[f.eq(a, y) for a, y in zip(again, ys, strict=True)])
        padding = at_y.encoder().value(self.padding)
        claim = f"the padding of {old.name} is exactly where no element lives"
        yield Question("layout", claim, at_y, y_box, f.eq(padding, f.not_(hit)), path)

    def at_padding(self, context: Context) -> Context:
        """The context of an arbitrary place of the padding."""
        _, _, at_y = _box(context, self.inverse_inputs, self.shape)
        at_y.assume(self.padding)
        return at_y

    def _at(
        self, context: Context, variables: tuple[Var, ...], values: list[Term], exprs: tuple[Expr, ...]
    ) -> list[Term]:
        here = context.fork()
        here.env.update({v: Encoded(x, f.TRUE, False) for v, x in zip(variables, values, strict=True)})
        return [here.encoder().value(e) for e in exprs]


def _in_lanes(e: Expr, mapping: Mapping[Var, Expr]) -> Expr:
    """An index expression in which variables stand for vectors: every operation works lane by lane.

    A ramp plus a scalar, or times a constant, is a ramp: its base is then the first lane, which does not overflow.
    """
    match e:
        case Var():
            return mapping.get(e, e)
        case IntImm():
            return e
        case Binary(op=op, a=a, b=b):
            x, y = _in_lanes(a, mapping), _in_lanes(b, mapping)
            match op, x, y:
                case (("add" | "sub"), Ramp(base=base, stride=stride, lanes=n), _) if y.dtype.lanes == 1:
                    return Ramp(binary(op, base, y), stride, n)
                case "add", _, Ramp(base=base, stride=stride, lanes=n) if x.dtype.lanes == 1:
                    return Ramp(binary("add", x, base), stride, n)
                case "mul", Ramp(base=base, stride=IntImm(value=step), lanes=n), IntImm(value=k):
                    return Ramp(binary("mul", base, y), const(step * k, base.dtype), n)
            return binary(op, x, y)
    raise IRError(
        f"the map computes a {type(e).__name__}, which has no lanes here; change the layout before vectorizing"
    )


def masked_lanes_safe(context: Context, moved: Stmt, new: Buffer, path: Path) -> Iterator[Question]:
    """φ can be evaluated in masked lanes, too: their elements need not exist, but their indices are evaluated.

    :param moved: the statement in which φ was applied; ``new`` is alive in ``context`` or allocated by it.
    """
    evaluated = {
        e
        for n in _walk(moved)
        if isinstance(n, (Load, Store)) and n.buffer is new and n.predicate is not None
        for i in n.indices
        for e in _walk(i)
    }
    if evaluated:
        run = instance(context, moved, with_safety=True)
        for place, safety in run.safety:
            if safety.expr in evaluated:
                yield from safe_questions(run.context, (safety,), (), (*path, *place))


def _box(
    context: Context, variables: tuple[Var, ...], shape: tuple[Expr, ...]
) -> tuple[list[Term], tuple[Term, ...], Context]:
    """Fresh terms for the variables, somewhere in ``[0, shape)``."""
    from verified_tir.semantics.encode import fresh

    here = context.fork()
    terms, conditions = [], []
    for v, extent in zip(variables, shape, strict=True):
        t = fresh(v.name, f.INT)
        here.env[v] = Encoded(t, f.TRUE, False)
        here.names[str(t.payload)] = v.name
        terms.append(t)
        conditions.append(f.between(f.integer(0), t, context.encoder().value(extent)))
    here.path.extend(conditions)
    return terms, tuple(conditions), here


def _walk(e: Node) -> Iterator[Node]:
    from verified_tir.ir.visit import walk

    return walk(e)
