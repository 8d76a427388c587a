"""Programs' expressions as formulas: the second definition of their meaning, which must agree with the interpreter.

An expression becomes a value, a condition under which that value is defined, and a list of *safety* conditions: what
must hold for its evaluation not to be undefined behaviour.  Vectors are encoded one lane at a time, the lane being a
term like any other.  Index arithmetic is encoded in mathematical integers (that it does not overflow is a safety
condition); with a load, cast or call beneath it, integer arithmetic is data and wraps.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple, final

from verified_tir.ir import expr as ir
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.calls import is_pure
from verified_tir.ir.floats import bits_of
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


LoadFunction = Callable[[Buffer, tuple[Term, ...], Term | None], tuple[Term, Term]]
AccessibleFunction = Callable[[Buffer, tuple[Term, ...]], Term]
CallFunction = Callable[[ir.Call], Encoded]


class Unencodable(ValueError):
    """An expression that has no value in the logic: an opaque call, a string, a variable out of scope."""


def _no_load(buffer: Buffer, indices: tuple[Term, ...], lane: Term | None) -> tuple[Term, Term]:
    raise Unencodable(f"{buffer.name} is read where no memory is known")


def _no_call(call: ir.Call) -> Encoded:
    raise Unencodable(f"the result of the opaque call {call.op} is unknown")


@final
class Encoder:
    """Encodes expressions in an environment.

    :param env: what variables stand for.
    :param load: gives value and definedness of an element (one lane of it), by the view and its indices.
    :param safety: where to put safety conditions; ``None`` does without.
    :param accessible: when an element may be touched at all (padding may be declared inaccessible).
    :param call: gives the result of an opaque call.
    """

    __slots__ = ("accessible", "call", "env", "load", "premises", "safety", "vectors")

    def __init__(
        self,
        env: dict[ir.Var, Encoded],
        load: LoadFunction = _no_load,
        safety: list[Safety] | None = None,
        accessible: AccessibleFunction | None = None,
        call: CallFunction = _no_call,
    ) -> None:
        self.call = call
        self.env = env
        self.accessible = accessible
        self.load = load
        self.safety = safety
        self.premises: tuple[Term, ...] = ()
        self.vectors: dict[ir.Var, tuple[ir.Expr, Encoder]] = {}  # lets of several lanes: what, where

    def require(self, kind: str, expr: ir.Expr, condition: Term) -> None:
        """Note a safety condition under the premises in force."""
        if self.safety is not None and condition is not f.TRUE:
            self.safety.append(Safety(kind, expr, self.premises, condition))

    @contextmanager
    def under(self, *premises: Term) -> Iterator[None]:
        """What is evaluated here is evaluated where these premises hold."""
        outer = self.premises
        self.premises = (*outer, *premises)
        try:
            yield
        finally:
            self.premises = outer

    def value(self, expr: ir.Expr, lane: Term | None = None) -> Term:
        """The value alone."""
        return self.encode(expr, lane).value

    def encode(self, expr: ir.Expr, lane: Term | None = None) -> Encoded:  # noqa: PLR0911
        """Value and definedness of ``expr`` (of its lane ``lane``, if it has lanes)."""
        match expr:
            case ir.Var():
                return self._variable(expr, lane)
            case ir.IntImm(type=t, value=v):
                return Encoded(f.boolean(bool(v)) if t.is_bool else f.integer(v), f.TRUE, False)
            case ir.Binary(op="and" | "or"):
                return self._lazy(expr, lane, self.encode)
            case ir.Binary():
                return self._binary(expr, lane)
            case ir.Load():
                return self._load(expr, lane)
            case ir.FloatImm(type=t, value=x):
                return Encoded(f.floating(sort_of(t), bits_of(t, x)), f.TRUE, True)
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
        if var in self.vectors:
            value, there = self.vectors[var]
            return there.encode(value, lane)
        found = self.env.get(var)
        if found is not None and var.dtype.lanes == 1:
            return found if not var.dtype.is_float else Encoded(found.value, found.defined, True)
        if var.dtype.lanes > 1:
            raise Unencodable(f"{var.name} is a let of several lanes; proofs need its value written in place")
        if var.dtype.code == "handle":
            raise Unencodable(f"the pointer {var.name} is no value that proofs know; only a call may take it")
        raise Unencodable(f"variable {var.name} is not in scope")

    def _let(self, expr: ir.LetExpr, lane: Term | None) -> Encoded:
        """Binds the variable to the value, all of which is evaluated here.

        It has this value in the body and nowhere else: a witness may bind a variable of the program.
        """
        lanes = expr.var.dtype.lanes
        bound = [self.encode(expr.value, f.integer(k) if lanes > 1 else None) for k in range(lanes)]
        outer = self.env, self.vectors
        if lanes > 1:
            quiet = Encoder(self.env, self.load)  # the safety of all lanes was noted here
            quiet.vectors = self.vectors
            self.vectors = {**self.vectors, expr.var: (expr.value, quiet)}
        else:
            self.env = {**self.env, expr.var: bound[0]}
        result = self.encode(expr.body, lane)
        self.env, self.vectors = outer
        return Encoded(result.value, result.defined, result.data or any(e.data for e in bound))

    def _choice(self, expr: ir.Select | ir.IfThenElse, lane: Term | None) -> Encoded:
        c, a, b = expr.condition, expr.true_value, expr.false_value
        ec = self.encode(c, lane if c.dtype.lanes > 1 else None)
        if isinstance(expr, ir.Select):
            ea, eb = self.encode(a, lane), self.encode(b, lane)
        else:
            self.require("a branch on undef", c, ec.defined)
            with self.under(ec.value):
                ea = self.encode(a, lane)
            with self.under(f.not_(ec.value)):
                eb = self.encode(b, lane)
        defined = f.and_(ec.defined, f.ite(ec.value, ea.defined, eb.defined))
        return Encoded(f.ite(ec.value, ea.value, eb.value), defined, ec.data or ea.data or eb.data)

    def _call(self, expr: ir.Call, lane: Term | None) -> Encoded:
        op, args, t = expr.op, expr.args, expr.type
        if not is_pure(op):
            return self.call(expr)
        if any(a.dtype.lanes != t.lanes for a in args):
            raise Unencodable(f"{op} of {args[0].dtype.lanes} lanes gives {t.lanes}; the logic knows single lanes")
        parts = [self.encode(a, lane) for a in args]
        value, defined = operators.encode_call(op, t.scalar, [a.dtype.scalar for a in args], [p.value for p in parts])
        return Encoded(value, f.and_(defined, *[p.defined for p in parts]), True)

    def claim(self, expr: ir.Expr) -> Encoded:
        """An assumed condition, in which ``x == undef`` is no comparison: it says that ``x`` may be evaluated."""
        match expr:
            case ir.Binary(op="eq", a=accessed, b=ir.Undef()) | ir.Binary(op="eq", a=ir.Undef(), b=accessed):
                self.encode(accessed)
                return Encoded(f.TRUE, f.TRUE, False)
            case ir.Binary(op="and" | "or"):
                return self._lazy(expr, None, lambda part, lane: self.claim(part))
        return self.encode(expr)

    def _lazy(self, expr: ir.Binary, lane: Term | None, part: Callable[[ir.Expr, Term | None], Encoded]) -> Encoded:
        # An undefined left operand decides whether the right one is evaluated: a branch on undef.
        a = part(expr.a, lane)
        self.require("a branch on undef", expr.a, a.defined)
        undecided = a.value if expr.op == "and" else f.not_(a.value)
        # With lanes both operands are evaluated, and then each lane decides for itself.
        with self.under(*((undecided,) if expr.dtype.lanes == 1 else ())):
            b = part(expr.b, lane)
        value = f.and_(a.value, b.value) if expr.op == "and" else f.or_(a.value, b.value)
        return Encoded(value, f.and_(a.defined, f.implies(undecided, b.defined)), a.data or b.data)

    def _ramp(self, expr: ir.Ramp, lane: Term | None) -> Encoded:
        assert lane is not None or expr.lanes == 1
        base, stride = self.encode(expr.base), self.encode(expr.stride)
        value = f.add(base.value, f.mul(stride.value, f.integer(0) if lane is None else lane))
        return self.integer(expr, value, f.and_(base.defined, stride.defined), base.data or stride.data)

    def _shuffle(self, expr: ir.Shuffle, lane: Term | None) -> Encoded:
        assert lane is not None or len(expr.indices) == 1
        sources = [  # all are evaluated, those that are not picked too
            self.encode(v, f.integer(k) if v.dtype.lanes > 1 else None)
            for v in expr.vectors
            for k in range(v.dtype.lanes)
        ]
        *first, last = [sources[i] for i in expr.indices]
        value, defined = last.value, last.defined
        for k, e in reversed([*enumerate(first)]):
            here = f.eq(lane if lane is not None else f.integer(0), f.integer(k))
            value, defined = f.ite(here, e.value, value), f.ite(here, e.defined, defined)
        return Encoded(value, defined, any(s.data for s in sources))

    def _load(self, expr: ir.Load, lane: Term | None) -> Encoded:
        """What a load gives; a lane that is masked out is undefined."""
        indices, element_lane, taken = self.access(expr, lane)
        with self.under(*taken):
            value, defined = self.load(expr.buffer, indices, element_lane)
        return Encoded(value, f.and_(*taken, defined), True)

    def access(self, expr: ir.Load, lane: Term | None) -> tuple[tuple[Term, ...], Term | None, tuple[Term, ...]]:
        """Index terms of an access (of its lane ``lane``), the lane within a vector element, and when it takes place.

        A vector index into a vector buffer has element lanes × index lanes, the element's lanes innermost.  A masked
        access evaluates all its indices, and touches an element only where the mask is true.
        """
        buffer, index_lane, element_lane = expr.buffer, lane, None
        if buffer.dtype.lanes > 1:
            assert lane is not None
            width = f.integer(buffer.dtype.lanes)
            index_lane, element_lane = f.floordiv(lane, width), f.floormod(lane, width)
        taken: tuple[Term, ...] = ()
        if expr.predicate is not None:
            mask = self.encode(expr.predicate, index_lane)
            self.require("a branch on undef", expr, mask.defined)
            taken = (mask.value,)
        terms = []
        for index, extent in zip(expr.indices, buffer.shape, strict=True):
            e = self.encode(index, index_lane if index.dtype.lanes > 1 else None)
            self.require("an index that is undef", expr, e.defined)
            terms.append(e.value)
            if self.safety is not None:
                with self.under(*taken):
                    self.require("in bounds", expr, f.between(f.integer(0), e.value, self.value(extent)))
        if self.safety is not None and self.accessible is not None:
            with self.under(*taken):
                self.require("accessible", expr, self.accessible(buffer, tuple(terms)))
        return tuple(terms), element_lane, taken

    def integer(self, expr: ir.Expr, value: Term, defined: Term, data: bool) -> Encoded:
        """An integer result: data wraps, index arithmetic must not overflow."""
        t = expr.dtype
        if data:
            return Encoded(f.wrap(value, t.bits, t.code == "int"), defined, True)
        if self.safety is not None:
            self.require("no overflow", expr, in_range(value, t))
        return Encoded(value, defined, False)

    def _binary(self, expr: ir.Binary, lane: Term | None) -> Encoded:
        a, b = self.encode(expr.a, lane), self.encode(expr.b, lane)
        operand = expr.a.dtype.scalar
        if operand.is_int and expr.op not in ir.COMPARE_OPS:
            self._partial(expr, a, b)
        value = operators.encode_binary(expr.op, operand, a.value, b.value)
        defined, data = f.and_(a.defined, b.defined), a.data or b.data
        if operand.is_int and expr.op in ("add", "sub", "mul", "shl"):
            return self.integer(expr, value, defined, data)
        return Encoded(value, defined, data)

    def _partial(self, expr: ir.Binary, a: Encoded, b: Encoded) -> None:
        """What an operator on integers that is not defined everywhere requires of its operands."""
        t, zero = expr.dtype, f.integer(0)
        if expr.op in ("shl", "shr"):
            self.require("a shift amount that is undef", expr, b.defined)
            self.require("a shift amount in range", expr, f.between(zero, b.value, f.integer(t.bits)))
        elif expr.op in ("floordiv", "floormod", "truncdiv", "truncmod"):
            self.require("a divisor that is undef", expr, b.defined)
            self.require("no division by zero", expr, f.ne(b.value, zero))
            if t.code == "int" and not (b.value.op == "const" and f.value_of(b.value) != -1):
                # a dividend that is undef may be anything, so also the smallest integer
                least = f.or_(f.not_(a.defined), f.eq(a.value, f.integer(t.min_value)))
                self.require("no overflow", expr, f.not_(f.and_(least, f.eq(b.value, f.integer(-1)))))
