"""Quasi-affine maps by isl: exact injectivity, inverses, extents and holes, where patterns do not reach.

Input: a box (constant, or with shape symbols as isl parameters) and the map's outputs over it.  Everything that isl
says is translated back to expressions with ``//`` and ``select`` and is a proposal like any other.

isl cannot express products of variables or symbols, division by a symbol, or bit operations: :class:`Inexpressible`.
Its work is bounded by a number of operations, not by time; past that, :class:`Inexpressible` too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from verified_tir.index.box import Box
from verified_tir.index.text import index_text
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import COMPARE_OPS, TRUE, Binary, Expr, IfThenElse, IntImm, Not, Select, Var
from verified_tir.ir.node import IRError
from verified_tir.ir.sugar import all_of, any_of, const

OPERATIONS = 30_000
"""isl operations that one question may take (mostly milliseconds, at worst some tenths of a second)."""


class Inexpressible(IRError):
    """isl cannot express the map, or the question is too much work for it."""


@lru_cache(maxsize=1)
def _context() -> Any:
    import islpy as isl

    return isl.Context()


@contextmanager
def bounded(operations: int) -> Iterator[Any]:
    """islpy under a limit on operations, its errors turned into :class:`Inexpressible`."""
    import islpy as isl

    context = _context()
    around = context.get_max_operations()
    context.reset_operations()
    context.set_max_operations(operations)
    try:
        yield isl
    except isl.Error as problem:
        raise Inexpressible(f"isl gave up: {str(problem).splitlines()[0]}") from problem
    except Inexpressible:
        raise
    except IRError as problem:  # isl's integers are unbounded
        raise Inexpressible(f"isl's answer cannot be written: {problem}") from problem
    finally:
        context.set_max_operations(around)
        context.reset_operations()


class Space:
    """Points, given by their variables and by symbols, which are parameters of isl."""

    def __init__(self, variables: Iterable[Var], symbols: Iterable[Var] = ()) -> None:
        import islpy as isl

        self.isl, self.variables, self.symbols = isl, tuple(variables), tuple(symbols)
        space = isl.Space.set_alloc(_context(), len(self.symbols), len(self.variables))
        for k, symbol in enumerate(self.symbols):  # without names isl would not align parameters of two spaces
            space = space.set_dim_name(isl.dim_type.param, k, f"p{symbol.uid}")
        self.local = isl.LocalSpace.from_space(space)
        self.place = {v: (isl.dim_type.set, k) for k, v in enumerate(self.variables)}
        self.place |= {v: (isl.dim_type.param, k) for k, v in enumerate(self.symbols)}
        self._memo: dict[Expr, Any] = {}

    @staticmethod
    def of(box: Box, *exprs: Expr) -> Space:
        """The space of a box, in which expressions may be written."""
        return Space(box.vars, box.symbols(*exprs))

    def map(self, outputs: Sequence[Expr], conditions: Iterable[Expr] = ()) -> Any:
        """The map from the points that satisfy conditions."""
        made = self.isl.Map.from_domain(self.where(all_of(list(conditions))))
        for e in outputs:
            made = made.flat_range_product(self.isl.Map.from_pw_aff(self.affine(e)))
        return made

    def constant(self, value: int) -> Any:
        zero = self.isl.Aff.zero_on_domain(self.local)
        return self.isl.PwAff.from_aff(zero.add_constant_val(self.isl.Val.int_from_si(_context(), value)))

    def affine(self, expr: Expr) -> Any:
        """The expression as a piecewise quasi-affine function on the space."""
        found = self._memo.get(expr)
        if found is None:
            found = self._memo[expr] = self._affine(expr)
        return found

    def _affine(self, expr: Expr) -> Any:
        match expr:
            case Var() if expr in self.place:
                return self.isl.PwAff.var_on_domain(self.local, *self.place[expr])
            case IntImm(value=value):
                return self.constant(value)
            case Binary(op="add", a=a, b=b):
                return self.affine(a).add(self.affine(b))
            case Binary(op="sub", a=a, b=b):
                return self.affine(a).sub(self.affine(b))
            case Binary(op="mul", a=a, b=b):
                x, y = self.affine(a), self.affine(b)
                if x.is_cst() or y.is_cst():
                    return x.mul(y)
            case Binary(op="min", a=a, b=b):
                return self.affine(a).min(self.affine(b))
            case Binary(op="max", a=a, b=b):
                return self.affine(a).max(self.affine(b))
            case Binary(op="floordiv", a=a, b=IntImm(value=c)) if c > 0:
                return self.affine(a).scale_down_val(self.isl.Val.int_from_si(_context(), c)).floor()
            case Binary(op="floordiv", a=a, b=IntImm(value=c)) if c < 0:
                return self.affine((0 - a) // -c)
            case Binary(op="floormod", a=a, b=IntImm(value=c)) if c > 0:
                return self.affine(a).mod_val(self.isl.Val.int_from_si(_context(), c))
            case Binary(op="floormod", a=a, b=IntImm(value=c)) if c < 0:
                return self.affine(0 - (0 - a) % -c)
            case (
                Select(condition=c, true_value=a, false_value=b) | IfThenElse(condition=c, true_value=a, false_value=b)
            ):
                where = self.where(c)
                chosen = self.affine(a).intersect_domain(where)
                return chosen.union_add(self.affine(b).intersect_domain(where.complement()))
        raise Inexpressible(f"{index_text(expr)} is not quasi-affine")

    def where(self, condition: Expr) -> Any:
        """The points at which a condition holds."""
        match condition:
            case IntImm(value=value):
                every = self.isl.Set.universe(self.local.get_space())
                return every if value else every.complement()
            case Binary(op="and", a=a, b=b):
                return self.where(a).intersect(self.where(b))
            case Binary(op="or", a=a, b=b):
                return self.where(a).union(self.where(b))
            case Not(a=a):
                return self.where(a).complement()
            case Binary(op=op, a=a, b=b) if op in COMPARE_OPS and a.dtype.is_int:
                return getattr(self.affine(a), f"{op}_set")(self.affine(b))
        raise Inexpressible(f"{index_text(condition)} is not quasi-affine")


# ---------------------------------------------------------------------- questions


def collision(box: Box, outputs: Sequence[Expr]) -> tuple[tuple[int, ...], tuple[int, ...], dict[Var, int]] | None:
    """Two points of the box with equal outputs and the symbols for which they are so; None if the map is injective.

    :raises Inexpressible: if isl cannot say.
    """
    with bounded(OPERATIONS) as isl:
        space = Space.of(box, *outputs)
        forward = space.map(outputs, box.conditions())
        if forward.is_injective():
            return None
        pair, count = two_of_one(forward.reverse()), len(box.vars)
        values = coordinates(pair, isl.dim_type.set, 2 * count)
        symbols = coordinates(pair, isl.dim_type.param, len(space.symbols))
        return values[:count], values[count:], dict(zip(space.symbols, symbols, strict=True))


def two_of_one(relation: Any) -> Any:
    """A point that consists of two images of one point, if there are such."""
    pairs = relation.reverse().apply_range(relation)
    return pairs.subtract(type(pairs).identity(pairs.get_space())).wrap().sample_point()


def coordinates(point: Any, kind: Any, count: int) -> tuple[int, ...]:
    """The first coordinates of a point."""
    return tuple(_whole(point.get_coordinate_val(kind, k)) for k in range(count))


def _whole(value: Any) -> int:
    """An isl value as an integer; isl has none to give once it ran out of operations."""
    text = value.to_str()
    if text is None:
        raise Inexpressible("isl gave up: maximal number of operations exceeded")
    return int(text)


def section(box: Box, outputs: Sequence[Expr], hits: Sequence[Var]) -> list[Expr]:
    """For each input an expression in ``hits`` that maps every output to (the least of) its inputs.

    :raises Inexpressible: if isl cannot say.
    """
    with bounded(OPERATIONS):
        space = Space.of(box, *outputs)
        backward = space.map(outputs, box.conditions()).reverse()
        if not backward.is_single_valued():
            backward = backward.lexmin()
        dtype = box.vars[0].dtype if box.vars else hits[0].dtype
        pieces = function(backward, Reader(tuple(hits), space.symbols, dtype))
        result = pieces[-1][1] if pieces else [const(0, v.dtype) for v in box.vars]
        for inside, values in reversed(pieces[:-1]):
            result = [a if a is b else Select(inside, a, b) for a, b in zip(values, result, strict=True)]
        return result


def function(relation: Any, reader: Reader) -> list[tuple[Expr, list[Expr]]]:
    """The pieces of a relation that is a function: where each holds, and its values."""
    import islpy as isl

    found: list[tuple[Any, Any]] = []  # an exception must not pass through isl's callback
    made = isl.PwMultiAff.from_map(relation).coalesce()
    made.foreach_piece(lambda where, values: found.append((where, values)))
    outputs = range(made.dim(isl.dim_type.out))
    last = len(found) - 1
    return [
        (TRUE if n == last else reader.condition(where), [reader.value(f.get_aff(k)) for k in outputs])
        for n, (where, f) in enumerate(found)
    ]


def greatest(box: Box, expr: Expr) -> int:
    """The greatest value of ``expr`` on a constant box that is not empty.

    :raises Inexpressible: if isl cannot say.
    """
    with bounded(OPERATIONS):
        return _whole(Space.of(box).map([expr], box.conditions()).range().dim_max_val(0))


def holes(box: Box, outputs: Sequence[Expr], hits: Box) -> Expr:
    """The condition on ``hits.vars`` that a point of ``hits`` is the image of no point of the box.

    :raises Inexpressible: if isl cannot say.
    """
    with bounded(OPERATIONS):
        outer = Space.of(hits, *box.extents, *outputs)
        everywhere = outer.where(all_of(hits.conditions()))
        image = Space.of(box, *hits.extents, *outputs).map(outputs, box.conditions()).range()
        missing = everywhere.subtract(image).coalesce().gist(everywhere)
        return Reader(hits.vars, outer.symbols, hits.vars[0].dtype).condition(missing)


class Reader:
    """Translates isl's sets and affine functions over ``axes`` and ``symbols`` back to expressions."""

    def __init__(self, axes: tuple[Var, ...], symbols: tuple[Var, ...], dtype: DType) -> None:
        self.axes, self.symbols, self.dtype = axes, symbols, dtype

    def numerator(self, affine: Any) -> tuple[Expr, int]:
        """``affine`` times its denominator, and the denominator."""
        from islpy import dim_type as kind

        scale = affine.get_denominator_val()
        total: Expr = const(_whole(affine.get_constant_val().mul(scale)), self.dtype)
        terms: list[tuple[Any, Callable[[int], Expr], int]] = [
            (kind.param, lambda k: self.symbols[k], affine.dim(kind.param)),
            (kind.in_, lambda k: self.axes[k], affine.dim(kind.in_)),
            (kind.div, lambda k: self.value(affine.get_div(k)), affine.dim(kind.div)),
        ]
        for which, meaning, count in terms:
            for k in range(count):
                factor = _whole(affine.get_coefficient_val(which, k).mul(scale))
                if factor:
                    total = total + meaning(k) * factor
        return total, _whole(scale)

    def value(self, affine: Any) -> Expr:
        """The floor of an affine function (where isl has a value, it is whole)."""
        total, scale = self.numerator(affine)
        return total if scale == 1 else total // scale

    def condition(self, points: Any) -> Expr:
        """Membership in a set."""
        parts: list[Expr] = []
        for basic in points.compute_divs().get_basic_sets():
            conditions: list[Expr] = []
            for constraint in basic.get_constraints():
                total, _ = self.numerator(constraint.get_aff())
                conditions.append(total.equal(0) if constraint.is_equality() else total >= 0)
            parts.append(all_of(conditions))
        return any_of(parts)
