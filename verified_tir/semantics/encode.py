"""Programs' expressions as formulas: the second definition of their meaning, which must agree with the interpreter.

An expression becomes a value, a condition under which that value is defined, and a list of *safety* conditions: what
must hold for its evaluation not to be undefined behaviour.  Vectors are encoded one lane at a time, the lane being a
term like any other.  Index arithmetic is encoded in mathematical integers (that it does not overflow is a safety
condition); with a load, cast or call beneath it, integer arithmetic is data and wraps.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, final

from verified_tir import ir
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics import encode_operators as operators
from verified_tir.semantics.encode_operators import in_range, sort_of

__all__ = ["Encoded", "Encoder", "Safety", "Unencodable", "fresh", "in_range", "sort_of"]

_fresh = itertools.count(1)


def fresh(name: str, sort: str) -> Term:
    """A variable of the logic that occurs nowhere else."""
    return f.var(f"{name}!{next(_fresh)}", sort)


class Encoded(NamedTuple):
    """The value of one lane, when it is defined, and whether it is data (not index arithmetic)."""

    value: Term
    defined: Term
    data: bool


@final
@dataclass(frozen=True, slots=True)
class Safety:
    """``condition`` must hold, whenever ``premises`` do, for the evaluation of ``expr`` to have a meaning."""

    kind: str
    expr: ir.Expr
    premises: tuple[Term, ...]
    condition: Term


LoadFunction = Callable[[ir.Buffer, tuple[Term, ...], Term | None, tuple[Term, ...]], tuple[Term, Term]]
AccessibleFunction = Callable[[ir.Buffer, tuple[Term, ...]], Term]
CallFunction = Callable[["Encoder", ir.Call], Encoded]
PartFunction = Callable[["Encoder", ir.Expr, Term | None], Encoded]


class Unencodable(ValueError):
    """An expression that has no value in the logic: an opaque call, a string, a variable out of scope."""


def _no_load(buffer: ir.Buffer, *_: object) -> tuple[Term, Term]:
    raise Unencodable(f"{buffer.name} is read where no memory is known")


def _no_call(_: Encoder, call: ir.Call) -> Encoded:
    raise Unencodable(f"the result of the opaque call {call.op} is unknown")


@final
@dataclass(frozen=True, slots=True)
class Encoder:
    """Encodes expressions in an environment.

    :param env: what variables stand for.
    :param load: gives value and definedness of an element (one lane of it), by the view, its indices, the lane, and
        what holds where it is loaded.
    :param safety: where to put safety conditions; ``None`` does without.
    :param accessible: when an element may be touched at all (padding may be declared inaccessible).
    :param call: gives the result of an opaque call.
    :param premises: what holds where the evaluation is.
    :param lets: the lanes of what the lets around it bind.
    """

    env: dict[ir.Var, Encoded]
    load: LoadFunction = _no_load
    safety: list[Safety] | None = None
    accessible: AccessibleFunction | None = None
    call: CallFunction = _no_call
    premises: tuple[Term, ...] = ()
    lets: dict[ir.Var, list[Encoded]] = field(default_factory=dict)

    def require(self, kind: str, expr: ir.Expr, condition: Term) -> None:
        """Note a safety condition under the premises in force."""
        if self.safety is not None and condition is not f.TRUE:
            self.safety.append(Safety(kind, expr, self.premises, condition))

    def under(self, *premises: Term) -> Encoder:
        """Encodes what is evaluated here where these premises hold."""
        return replace(self, premises=(*self.premises, *premises))

    def value(self, expr: ir.Expr, lane: Term | None = None) -> Term:
        """The value of an expression, without its definedness."""
        return self.encode(expr, lane).value

    def flat_address(self, buffer: ir.Buffer, indices: tuple[Term, ...]) -> Term:
        """Position of an element from the start of the block, in elements of the view."""
        if buffer.strides:
            total = self.value(buffer.elem_offset)
            for index, stride in zip(indices, buffer.strides, strict=True):
                total = f.add(total, f.mul(index, self.value(stride)))
            return total
        position = f.integer(0)
        for index, extent in zip(indices, buffer.shape, strict=True):
            position = f.add(f.mul(position, self.value(extent)), index)
        return f.add(self.value(buffer.elem_offset), position)

    def bytes_of(self, buffer: ir.Buffer) -> Term:
        """How many bytes the elements of a row-major buffer have."""
        size = f.integer(buffer.dtype.nbytes)
        for extent in buffer.shape:
            size = f.mul(size, self.value(extent))
        return size

    def encode(self, expr: ir.Expr, lane: Term | None = None) -> Encoded:  # noqa: PLR0911
        """Value and definedness of ``expr`` (of its lane ``lane``, if it has lanes)."""
        match expr:
            case ir.Var():
                return self._variable(expr, lane)
            case ir.IntImm(type=t, value=v):
                return Encoded(f.boolean(bool(v)) if t.is_bool else f.integer(v), f.TRUE, False)
            case ir.Binary(op="and" | "or"):
                return self._lazy(expr, lane, Encoder.encode)
            case ir.Binary():
                return self._binary(expr, lane)
            case ir.Load():
                return self._load(expr, lane)
            case ir.FloatImm(type=t, value=x):
                return Encoded(f.floating(sort_of(t), ir.bits_of(t, x)), f.TRUE, True)
            case ir.Undef(type=t):
                return Encoded(fresh("undef", sort_of(t)), f.FALSE, True)
            case ir.Not(a=a):
                e = self.encode(a, lane)
                return Encoded(f.not_(e.value), e.defined, e.data)
            case ir.Select() | ir.IfThenElse():
                return self._choice(expr, lane)
            case ir.Cast(type=t, value=v):
                e = self.encode(v, lane)
                value, defined = operators.encode_cast(v.dtype.scalar, t.scalar, e.value)
                return Encoded(value, f.and_(e.defined, defined), True)
            case ir.Ramp():
                return self._ramp(expr, lane)
            case ir.Broadcast(value=v):
                return self.encode(v)
            case ir.Shuffle():
                return self._shuffle(expr, lane)
            case ir.LetExpr():
                return self._let(expr, lane)
            case ir.Call():
                return self._call(expr, lane)
            case _:
                raise Unencodable(f"a {type(expr).__name__} has no value in the logic")

    def _variable(self, var: ir.Var, lane: Term | None) -> Encoded:
        if var in self.lets:
            return _picked(self.lets[var], lane)
        if var in self.env and var.dtype.lanes == 1:
            return self.env[var]
        raise Unencodable(f"variable {var.name} is not in scope as one number; proofs know no other values")

    def _let(self, expr: ir.LetExpr, lane: Term | None) -> Encoded:
        """Binds the variable to the value, all lanes of which are evaluated here.

        It has this value in the body and nowhere else: a witness may bind a variable of the program.
        """
        bound = self._lanes(expr.value)
        result = replace(self, lets={**self.lets, expr.var: bound}).encode(expr.body, lane)
        return Encoded(result.value, result.defined, result.data or any(e.data for e in bound))

    def _lanes(self, expr: ir.Expr) -> list[Encoded]:
        """All lanes of an expression."""
        lanes = expr.dtype.lanes
        return [self.encode(expr, f.integer(k) if lanes > 1 else None) for k in range(lanes)]

    def _choice(self, expr: ir.Select | ir.IfThenElse, lane: Term | None) -> Encoded:
        c, a, b = expr.condition, expr.true_value, expr.false_value
        ec = self.encode(c, lane if c.dtype.lanes > 1 else None)
        if isinstance(expr, ir.Select):
            ea, eb = self.encode(a, lane), self.encode(b, lane)
        else:
            self.require("a branch on undef", c, ec.defined)
            ea = self.under(ec.value).encode(a, lane)
            eb = self.under(f.not_(ec.value)).encode(b, lane)
        defined = f.and_(ec.defined, f.ite(ec.value, ea.defined, eb.defined))
        return Encoded(f.ite(ec.value, ea.value, eb.value), defined, ec.data or ea.data or eb.data)

    def _call(self, expr: ir.Call, lane: Term | None) -> Encoded:
        op, args, t = expr.op, expr.args, expr.type
        if not ir.is_pure(op):
            return self.call(self, expr)
        if any(a.dtype.lanes != t.lanes for a in args):
            raise Unencodable(f"{op} of {args[0].dtype.lanes} lanes gives {t.lanes}; the logic knows single lanes")
        parts = [self.encode(a, lane) for a in args]
        value, defined = operators.encode_call(op, t.scalar, [a.dtype.scalar for a in args], [p.value for p in parts])
        return Encoded(value, f.and_(defined, *[p.defined for p in parts]), True)

    def claim(self, expr: ir.Expr) -> Encoded:
        """An assumed condition, in which ``x == undef`` is not a comparison: it says that ``x`` may be evaluated."""
        match expr:
            case ir.Binary(op="eq", a=accessed, b=ir.Undef()) | ir.Binary(op="eq", a=ir.Undef(), b=accessed):
                self.encode(accessed)
                return Encoded(f.TRUE, f.TRUE, False)
            case ir.Binary(op="and" | "or"):
                return self._lazy(expr, None, lambda there, part, lane: there.claim(part))
        return self.encode(expr)

    def _lazy(self, expr: ir.Binary, lane: Term | None, part: PartFunction) -> Encoded:
        # An undefined left operand decides whether the right one is evaluated: a branch on undef.
        a = part(self, expr.a, lane)
        self.require("a branch on undef", expr.a, a.defined)
        undecided = a.value if expr.op == "and" else f.not_(a.value)
        # With lanes both operands are evaluated, and then each lane decides for itself.
        b = part(self.under(undecided) if expr.dtype.lanes == 1 else self, expr.b, lane)
        value = f.and_(a.value, b.value) if expr.op == "and" else f.or_(a.value, b.value)
        return Encoded(value, f.and_(a.defined, f.implies(undecided, b.defined)), a.data or b.data)

    def _ramp(self, expr: ir.Ramp, lane: Term | None) -> Encoded:
        base, stride = self.encode(expr.base), self.encode(expr.stride)
        value = f.add(base.value, f.mul(stride.value, _number(lane, expr.lanes)))
        return self.integer(expr, value, f.and_(base.defined, stride.defined), base.data or stride.data)

    def _shuffle(self, expr: ir.Shuffle, lane: Term | None) -> Encoded:
        sources = [e for v in expr.vectors for e in self._lanes(v)]  # those that are not picked are evaluated, too
        result = _picked([sources[i] for i in expr.indices], lane)
        return Encoded(result.value, result.defined, any(s.data for s in sources))

    def _load(self, expr: ir.Load, lane: Term | None) -> Encoded:
        """What a load gives; a lane that is masked out is undefined."""
        indices, element_lane, taken = self.access(expr, lane)
        value, defined = self.load(expr.buffer, indices, element_lane, (*self.premises, *taken))
        return Encoded(value, f.and_(*taken, defined), True)

    def access(self, expr: ir.Load, lane: Term | None) -> tuple[tuple[Term, ...], Term | None, tuple[Term, ...]]:
        """Index terms of an access (of its lane ``lane``), the lane within a vector element, and when it takes place.

        A vector index into a vector buffer has element lanes × index lanes, the element's lanes innermost.  A masked
        access evaluates all its indices, and touches an element only where the mask is true.
        """
        buffer, index_lane, element_lane = expr.buffer, lane, None
        if buffer.dtype.lanes > 1:
            number, width = _number(lane, buffer.dtype.lanes), f.integer(buffer.dtype.lanes)
            index_lane, element_lane = f.floordiv(number, width), f.floormod(number, width)
        taken: tuple[Term, ...] = ()
        if expr.predicate is not None:
            mask = self.encode(expr.predicate, index_lane)
            self.require("a branch on undef", expr, mask.defined)
            taken = (mask.value,)
        indices = [self.encode(i, index_lane if i.dtype.lanes > 1 else None) for i in expr.indices]
        terms = tuple([e.value for e in indices])
        if self.safety is not None:
            self.require("an index that is undef", expr, f.and_(*[e.defined for e in indices]))
            there = replace(self.under(*taken), lets={})  # the lets are none of the buffer's, whatever they bind
            for term, extent in zip(terms, buffer.shape, strict=True):
                there.require("in bounds", expr, f.between(f.ZERO, term, there.value(extent)))
            if self.accessible is not None:
                there.require("accessible", expr, self.accessible(buffer, terms))
        return terms, element_lane, taken

    def integer(self, expr: ir.Expr, value: Term, defined: Term, data: bool) -> Encoded:
        """An integer result: data wraps, index arithmetic must not overflow."""
        t = expr.dtype
        if data:
            return Encoded(f.wrap(value, t.bits, t.code == "int"), defined, True)
        self.require("no overflow", expr, in_range(value, t))
        return Encoded(value, defined, False)

    def _binary(self, expr: ir.Binary, lane: Term | None) -> Encoded:
        a, b = self.encode(expr.a, lane), self.encode(expr.b, lane)
        operand = expr.a.dtype.scalar
        self._partial(expr, a, b)
        value = operators.encode_binary(expr.op, operand, a.value, b.value)
        defined, data = f.and_(a.defined, b.defined), a.data or b.data
        if operand.is_int and expr.op in ("add", "sub", "mul", "shl"):
            return self.integer(expr, value, defined, data)
        return Encoded(value, defined, data)

    def _partial(self, expr: ir.Binary, a: Encoded, b: Encoded) -> None:
        """What an operator on integers that is not defined everywhere requires of its operands."""
        t, zero = expr.dtype, f.ZERO
        if expr.op in ("shl", "shr"):
            self.require("a shift amount that is undef", expr, b.defined)
            self.require("a shift amount in range", expr, f.between(zero, b.value, f.integer(t.bits)))
        elif expr.op in ("floordiv", "floormod", "truncdiv", "truncmod"):
            self.require("a divisor that is undef", expr, b.defined)
            self.require("no division by zero", expr, f.ne(b.value, zero))
            if t.code == "int":
                # a dividend that is undef may be anything, so also the smallest integer
                least = f.or_(f.not_(a.defined), f.eq(a.value, f.integer(t.min_value)))
                self.require("no overflow", expr, f.not_(f.and_(least, f.eq(b.value, f.integer(-1)))))


def _number(lane: Term | None, lanes: int) -> Term:
    """The number of a lane; what has one lane has it at 0."""
    if lane is None and lanes > 1:
        raise Unencodable("a vector has no value in the logic, but each of its lanes has")
    return f.ZERO if lane is None else lane


def _picked(lanes: Sequence[Encoded], lane: Term | None) -> Encoded:
    """One of several lanes."""
    number, (*first, result) = _number(lane, len(lanes)), lanes
    for k, e in reversed([*enumerate(first)]):
        here = f.eq(number, f.integer(k))
        result = Encoded(
            f.ite(here, e.value, result.value), f.ite(here, e.defined, result.defined), e.data or result.data
        )
    return result
