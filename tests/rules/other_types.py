"""A program and a rule for it, with other types: integers that are narrow or of several widths, in one of them or both.

The generators know one type of integers.  What they make is put together anew: variables (the program's, the rule's
own, those of a layout map) and buffers get other types, and casts stand where two that are not one meet.  Indices go up
to the edges of narrow types and back.  So the rule is mostly wrong in a small thing, and sometimes right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields as fields_of
from dataclasses import is_dataclass, replace
from typing import Any

from hypothesis import strategies as st

from tests.rules.random_programs import Draw, one_of
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import INT32, DType, PointerType
from verified_tir.ir.expr import (
    Binary,
    Call,
    Cast,
    Expr,
    IfThenElse,
    IntImm,
    LetExpr,
    Load,
    Ramp,
    Select,
    Shuffle,
    Var,
)
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.paths import at, loops_around, put
from verified_tir.ir.stmt import SKIP, Allocate, For, LetStmt, Store
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import fields, substitute, walk
from verified_tir.kernel.rules.bind import Bind
from verified_tir.kernel.rules.common import together
from verified_tir.kernel.rules.couple import Couple
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.reassociate import Reassociate
from verified_tir.kernel.rules.recompute import Eliminate, Recompute
from verified_tir.kernel.rules.relayout import Relayout
from verified_tir.kernel.rules.reorder import Link, Reorder
from verified_tir.kernel.rules.skeleton import Skeleton
from verified_tir.kernel.rules.stage import Stage
from verified_tir.kernel.theorem import Rule

TYPES = tuple(map(DType.parse, ("int8", "uint8", "int16", "int64", "uint32")))


def with_other_types(draw: Draw, func: PrimFunc, rule: Rule) -> tuple[PrimFunc, Rule]:
    """The two with other types, the same in both for what they have in common.

    :raises IRError: if that is ill-typed: a loop's variable with lanes, for example.
    """
    kind = one_of(draw, "own", "one", "several")
    one = one_of(draw, *TYPES)
    made = _Typed(draw, (lambda: one_of(draw, INT32, *TYPES)) if kind == "several" else (lambda: one))
    if kind == "own":  # only what the rule brings along
        made.memo.update((n, n) for n in walk(func))
    program, other = made.of(func), made.of(rule)
    return program, _fitted(program, other) if draw(st.booleans()) else other


class _Typed:
    """Puts nodes together anew, each once: what a program and a rule have in common remains one."""

    def __init__(self, draw: Draw, another: Callable[[], DType]) -> None:
        self.draw, self.another = draw, another
        self.memo: dict[Node, Node] = {}

    def of(self, value: Any) -> Any:
        """A node, a record of nodes or a tuple with other types."""
        if isinstance(value, Node):
            if value not in self.memo:
                self.memo[value] = self.node(value)
            return self.memo[value]
        if type(value) is tuple:
            return tuple(map(self.of, value))
        if isinstance(value, LayoutMap):
            return self.map(value)
        if not is_dataclass(value) or isinstance(value, type):
            return value
        made = type(value)(*[self.of(getattr(value, f.name)) for f in fields_of(value)])
        if isinstance(made, Reassociate):
            element: list[Expr] = [self.around(e) for e in made.element]
            made = replace(made, element=self.cast(made.inputs, element))
        return made

    def node(self, n: Node) -> Node:
        match n:
            case DType() | PointerType():
                return n
            case Var(name=name, type=t):
                return Var.fresh(name, self.another()) if t is INT32 else n
            case Buffer(dtype=t, shape=shape):
                kind = self.another() if t is INT32 else t
                shape, strides = tuple(map(self.extent, shape)), self.of(n.strides)
                return Buffer(n.name, n.data, kind, shape, strides, self.of(n.elem_offset), n.axis_separators)
            case Load() | Store():
                made = type(n)(*_fitting(n, [self.of(p) for p in fields(n)]))
                return replace(made, indices=tuple(map(self.around, made.indices)))
        return type(n)(*_fitting(n, [self.of(p) for p in fields(n)]))

    def extent(self, e: Expr) -> Expr:
        """A constant of another type, too; one that has the number."""
        return _as(e, self.another(), cast=False) if isinstance(e, IntImm) else self.of(e)

    def map(self, m: LayoutMap) -> LayoutMap:
        """A map, whose parts fit one another, but perhaps not the buffer."""
        shape = tuple(map(self.extent, m.shape))
        into = tuple([Var.fresh(v.name, n.dtype) for v, n in zip(m.inverse_inputs, shape, strict=True)])
        self.memo.update(zip(m.inverse_inputs, into, strict=True))
        inputs, kept = self.of(m.inputs), self.draw(st.booleans())
        outputs = self.cast(inputs, [self.around(self.of(e)) for e in m.outputs])
        inverse = self.cast(into, [self.around(self.of(e)) for e in m.inverse])
        return LayoutMap(
            inputs, tuple([_as(e, n.dtype) for e, n in zip(outputs, shape, strict=True)]), into,
            tuple([e if kept else _as(e, v.dtype) for e, v in zip(inverse, inputs, strict=True)]), shape,
            self.of(m.padding),
        )  # fmt: skip

    def cast(self, variables: tuple[Var, ...], exprs: Iterable[Expr]) -> tuple[Expr, ...]:
        """Variables cast to their own types, now and then: no change, unless something of another one is put in."""
        own: dict[Var, Expr] = {} if self.draw(st.integers(0, 2)) else {v: Cast(v.dtype, v) for v in variables}
        return tuple([substitute(e, own) for e in exprs])

    def around(self, e: Expr) -> Expr:
        """The same number by way of another type, now and then, or of its edges: if it fits in there."""
        if e.dtype.lanes > 1 or self.draw(st.integers(0, 9)):
            return e
        t = one_of(self.draw, e.dtype, *TYPES)
        if self.draw(st.booleans()):
            return Cast(e.dtype, Cast(t, e))
        by = const(one_of(self.draw, t.max_value, t.max_value - 3, t.min_value, t.min_value + 3), t)
        return _as(Binary("sub", Binary("add", _as(e, t), by), by), e.dtype)


def _fitted(func: PrimFunc, rule: Rule) -> Rule:
    """The rule with casts, where it says of what type something has to be."""
    match rule:
        case Bind(var=var, value=value):
            return replace(rule, var=Var.fresh(var.name, value.dtype))
        case Reorder(links=links):
            whole, skeleton = together(func.body, rule.path, rule.count), Skeleton(rule.new)
            fit: list[Link] = []
            for k in links:
                old, new = loops_around(whole, rule.leaves[k.leaf][0]), skeleton.loops(k.hole)
                fit.append(replace(k, old_of_new=_values(old, k.old_of_new), new_of_old=_values(new, k.new_of_old)))
            return replace(rule, links=tuple(fit))
        case Recompute(path=path, source=source):
            shared = next((k for k, (a, b) in enumerate(zip(source, path, strict=False)) if a != b), 0)
            loops = loops_around(at(func.body, source[: shared + 1]), source[shared + 1 :])
            return replace(rule, instance=_values(loops, rule.instance))
        case Eliminate(path=path, recompute=again):
            fitted = _fitted(func.with_body(put(func.body, path, SKIP)), again)
            assert isinstance(fitted, Recompute)
            return replace(rule, recompute=fitted)
        case Relayout(buffer=b) | Stage(buffer=b):
            return replace(rule, layout=_of_buffer(rule.layout, b))
        case Couple(path=path):
            allocated = at(func.body, path)
            return replace(rule, layout=_of_buffer(rule.layout, allocated.buffer)) if isinstance(
                allocated, Allocate) else rule  # fmt: skip
    return rule


def _values(loops: list[For], values: tuple[Expr, ...]) -> tuple[Expr, ...]:
    if len(loops) != len(values):
        return values
    return tuple([_as(e, s.var.dtype) for e, s in zip(values, loops, strict=True)])


def _of_buffer(m: LayoutMap, b: Buffer) -> LayoutMap:
    """The map with the inputs for which indices of the buffer stand."""
    if len(m.inputs) != len(b.shape):
        return m
    new = {v: Var.fresh(v.name, n.dtype) for v, n in zip(m.inputs, b.shape, strict=True)}
    old = {v: _as(x, v.dtype) for v, x in new.items()}
    outputs = tuple([substitute(e, old) for e in m.outputs])
    inverse = tuple([_as(e, x.dtype) for e, x in zip(m.inverse, new.values(), strict=True)])
    return replace(m, inputs=tuple(new.values()), outputs=outputs, inverse=inverse)


def _fitting(n: Node, parts: list[Any]) -> list[Any]:
    """The fields of a node with casts where their types differ."""
    match n:
        case Binary():
            op, a, b = parts
            return [op, _as(a, b.dtype), b] if isinstance(a, IntImm) else [op, a, _as(b, a.dtype)]
        case Select() | IfThenElse():
            condition, a, b = parts
            return [condition, a, _as(b, a.dtype)]
        case Ramp():
            base, stride, lanes = parts
            return [base, _as(stride, base.dtype), lanes]
        case Shuffle():
            vectors, indices = parts
            scalar = vectors[0].dtype.scalar
            return [tuple(_as(v, scalar.with_lanes(v.dtype.lanes)) for v in vectors), indices]
        case LetExpr() | LetStmt():
            var, value, body = parts
            return [var, _as(value, var.dtype), body]
        case For():
            var, low, extent, *rest = parts
            return [var, _as(low, var.dtype), _as(extent, var.dtype), *rest]
        case Store():
            buffer, value, indices, predicate = parts
            return [buffer, _as(value, buffer.dtype.with_lanes(value.dtype.lanes)), indices, predicate]
        case Call(args=args):
            return [*parts[:2], tuple(_as(new, old.dtype) for new, old in zip(parts[2], args, strict=True))]
    return parts


def _as(e: Expr, dtype: DType, *, cast: bool = True) -> Expr:
    """The expression at a type of as many lanes; unless something but a constant would have to be ``cast``."""
    if e.dtype is dtype:
        return e
    if isinstance(e, IntImm) and dtype.is_int and dtype.min_value <= e.value <= dtype.max_value:
        return IntImm(dtype, e.value)
    return Cast(dtype, e) if cast else e
