"""Builders of the rule :class:`~verified_tir.kernel.rules.reorder.Reorder`: the same instances in another order.

Each function says what its picture shows.  The new nest and its maps are written down here; that they are right is
proved by the kernel, so nothing rests on this file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Concatenate, Literal, ParamSpec, final

from verified_tir.ir.equal import structural_equal
from verified_tir.ir.expr import Binary, Expr, IntImm, Not, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import Path, at
from verified_tir.ir.stmt import SKIP, Annotations, Block, Evaluate, For, ForKind, If, Seq, Stmt, seq
from verified_tir.ir.sugar import all_of, const
from verified_tir.ir.visit import free_vars
from verified_tir.kernel.obligation import NoMatch
from verified_tir.kernel.rules.recompute import Recompute
from verified_tir.kernel.rules.reorder import Link, Reorder
from verified_tir.kernel.step import Rule

P = ParamSpec("P")

Leaf = tuple[Path, int]

Move = Callable[[PrimFunc], Reorder | NoMatch]
"""A function that builds a rule for a program, or says why the rule does not apply."""


@final
@dataclass(frozen=True, slots=True)
class _Step:
    """A rule builder, with the function and the arguments that it was made of."""

    make: Callable[..., Reorder | NoMatch]
    arguments: tuple[Any, ...]
    named: tuple[tuple[str, Any], ...]

    def __call__(self, func: PrimFunc) -> Reorder | NoMatch:
        try:
            return self.make(func, *self.arguments, **dict(self.named))
        except IRError as problem:
            return NoMatch((), str(problem))

    @property
    def name(self) -> str:
        """The name of the function that it was made of."""
        return self.make.__name__

    def __repr__(self) -> str:
        arguments = [*map(repr, self.arguments), *(f"{k}={v!r}" for k, v in self.named)]
        return f"{self.make.__name__}({', '.join(arguments)})"


def _builder(
    make: Callable[Concatenate[PrimFunc, P], Reorder | NoMatch],
) -> Callable[P, Move]:
    """Turn a function of a program and further arguments into one of these arguments that returns a rule builder."""

    @wraps(make)
    def made(*arguments: P.args, **named: P.kwargs) -> Move:
        return _Step(make, arguments, tuple(named.items()))

    return made


def _hole(number: int) -> Stmt:
    return Evaluate(const(number))


Run = tuple[int, tuple[Expr, ...], tuple[Expr, ...]]
"""A leaf that a hole runs, and the maps: from the hole's loops to the leaf's, and back."""


def _reorder(path: Path, count: int, leaves: Sequence[Leaf], new: Stmt, *holes: Sequence[Run]) -> Reorder:
    """The rule ``Reorder`` with these leaves, skeleton and maps."""
    links = [Link(leaf, k, g, h) for k, runs in enumerate(holes) for leaf, g, h in runs]
    return Reorder(path, count, tuple(leaves), new, tuple(links))


def _same(leaf: int) -> tuple[Run]:
    """The link of a hole under no loop to a leaf under no loop."""
    return ((leaf, (), ()),)


def _over(leaf: int, new: Var, old: Var) -> tuple[Run]:
    """The link of a hole under one loop to a leaf under one loop with the same iterations."""
    return ((leaf, (new,), (old,)),)


def _again(loop: For) -> Var:
    """A variable for another loop like this one."""
    return Var.fresh(loop.var.name, loop.var.type)


def _around(loop: For, body: Stmt, var: Var | None = None) -> For:
    """A loop like this one."""
    return replace(loop, var=loop.var if var is None else var, body=body)


def _pair(func: PrimFunc, path: Path, position: int) -> tuple[Stmt, Stmt] | NoMatch:
    """Two adjacent statements of the sequence at ``path``."""
    match at(func.body, path):
        case Seq(stmts=stmts) if 0 <= position < len(stmts) - 1:
            return stmts[position], stmts[position + 1]
    return NoMatch(path, "there are no two adjacent statements here")


@final
@dataclass(frozen=True, slots=True)
class NewLoop:
    """One loop of a new nest; its bounds may use the variables of the loops outside it."""

    var: Var
    min: Expr
    extent: Expr
    kind: ForKind = "serial"
    thread: str = ""
    annotations: Annotations = ()


def nest(loops: Sequence[NewLoop], guards: Sequence[Expr], body: Stmt) -> Stmt:
    """The loops, outermost first, and within them the conditions, around a statement."""
    if guards:
        body = If(all_of(guards), body)
    for loop in reversed(loops):
        body = For(loop.var, loop.min, loop.extent, body, loop.kind, loop.thread, loop.annotations)
    return body


# -- loops -------------------------------------------------------------------------------------------------------------


@_builder
def reindex(
    func: PrimFunc,
    path: Path,
    depth: int,
    loops: tuple[NewLoop, ...],
    guards: tuple[Expr, ...],
    old_of_new: tuple[Expr, ...],
    new_of_old: tuple[Expr, ...],
) -> Reorder | NoMatch:
    """
        for x₁ … xₙ (with guards):            for y₁ … yₘ:
            S(x)                     ⟶            if guards(y): S(g(y))

    The nest of ``depth`` statements (loops, guards, labels) at ``path`` becomes ``loops`` and ``guards``.

    :param old_of_new: g, one expression over the new variables for each old loop, outermost first.
    :param new_of_old: h, one expression over the old variables for each new loop.
    """
    stmt, labels = at(func.body, path), list[Block]()
    for _ in range(depth):
        match stmt:
            case Block(is_label=True, body=body) as label:
                labels.append(label)
                stmt = body
            case For(body=body) | If(then_body=body, else_body=None):
                stmt = body
            case _:
                return NoMatch(path, "the nest contains something other than loops and guards")
    new = _hole(0)
    for label in reversed(labels):
        new = Block.label(label.name, new, label.annotations)
    return _reorder(path, 1, [((0,) * depth, 1)], nest(loops, guards, new), [(0, old_of_new, new_of_old)])


@_builder
def unroll(func: PrimFunc, path: Path) -> Reorder | NoMatch:
    """``for i in [a, a + n): S`` ⟶ ``S[i := a]; S[i := a + 1]; … S[i := a + n - 1]``, of constants."""
    match at(func.body, path):
        case For(var=v, min=IntImm(value=low), extent=IntImm(value=n)) if n > 0:
            if low + n - 1 > v.dtype.max_value:
                return NoMatch(path, f"the loop's last value does not fit {v.dtype}")
            links = [[(0, (const(low + k, v.dtype),), ())] for k in range(n)]
            return _reorder(path, 1, [((0,), 1)], seq(*map(_hole, range(n))), *links)
    return NoMatch(path, "not a loop with a constant start and a positive constant extent")


@_builder
def swap(func: PrimFunc, path: Path, position: int) -> Reorder | NoMatch:
    """``A; B`` ⟶ ``B; A`` for the two statements of the sequence at ``path`` that start at ``position``."""
    pair = _pair(func, path, position)
    if isinstance(pair, NoMatch):
        return pair
    return _reorder((*path, position), 2, [((0,), 1), ((1,), 1)], Seq((_hole(0), _hole(1))), _same(1), _same(0))


@_builder
def fission(func: PrimFunc, path: Path, position: int) -> Reorder | NoMatch:
    """Loop fission: ``for i: A; B`` ⟶ ``for i: A`` then ``for i: B``, split before statement ``position`` of the body;
    likewise ``if c: A; B``."""
    match at(func.body, path):
        case For(body=Seq(stmts=stmts)) as loop if 0 < position < len(stmts):
            v, w = loop.var, _again(loop)
            new = Seq((_around(loop, _hole(0)), _around(loop, _hole(1), w)))
            links = [_over(0, v, v), _over(1, w, v)]
        case If(condition=c, then_body=Seq(stmts=stmts), else_body=None) if 0 < position < len(stmts):
            new = Seq((If(c, _hole(0)), If(c, _hole(1))))
            links = [_same(0), _same(1)]
        case _:
            return NoMatch(path, "not a loop (or an if without else) over a sequence that can be split there")
    return _reorder(path, 1, [((0, 0), position), ((0, position), len(stmts) - position)], new, *links)


@_builder
def fuse(func: PrimFunc, path: Path, position: int) -> Reorder | NoMatch:
    """Loop fusion: ``for i: A`` then ``for j: B`` ⟶ ``for i: A; B[i]``, neighbours in the sequence at ``path``."""
    pair = _loops(func, path, position)
    if isinstance(pair, NoMatch):
        return pair
    a, b = pair
    new = _around(a, Seq((_hole(0), _hole(1))))
    links = _over(0, a.var, a.var), _over(1, a.var, b.var)
    return _reorder((*path, position), 2, [((0, 0), 1), ((1, 0), 1)], new, *links)


def _loops(func: PrimFunc, path: Path, position: int) -> tuple[For, For] | NoMatch:
    """Two adjacent loops of one type and kind."""
    pair = _pair(func, path, position)
    if isinstance(pair, NoMatch):
        return pair
    a, b = pair
    if not (isinstance(a, For) and isinstance(b, For)):
        return NoMatch(path, "the two statements are not both loops")
    if a.var.dtype is not b.var.dtype or (a.kind, a.thread) != (b.kind, b.thread):
        return NoMatch(path, "the two loops differ in type or kind")
    return a, b


@_builder
def split_index_set(func: PrimFunc, path: Path, mid: Expr) -> Reorder | NoMatch:
    """Index-set splitting: ``for i in [a, b): S`` ⟶ ``for i in [a, mid): S`` then ``for i in [mid, b): S``."""
    loop = at(func.body, path)
    if not isinstance(loop, For):
        return NoMatch(path, "not a loop")
    if mid.dtype is not loop.var.dtype:
        return NoMatch(path, f"the middle has type {mid.dtype}, the loop {loop.var.dtype}")
    v, w, low = loop.var, _again(loop), loop.min
    first = replace(loop, extent=mid - low, body=_hole(0))
    second = replace(loop, var=w, min=mid, extent=low + loop.extent - mid, body=_hole(1))
    return _reorder(path, 1, [((0,), 1)], Seq((first, second)), _over(0, v, v), _over(0, w, v))


@_builder
def join_index_sets(func: PrimFunc, path: Path, position: int) -> Reorder | NoMatch:
    """``for i in [a, mid): S`` then ``for i in [mid, b): S`` ⟶ ``for i in [a, b): S``: index-set splitting read
    backwards."""
    pair = _loops(func, path, position)
    if isinstance(pair, NoMatch):
        return pair
    a, b = pair
    new = replace(a, extent=a.extent + b.extent, body=_hole(0))
    links = (*_over(0, a.var, a.var), *_over(1, a.var, b.var))
    return _reorder((*path, position), 2, [((0, 0), 1), ((1, 0), 1)], new, links)


def in_any_order(move: Move) -> Callable[[PrimFunc], Rule | NoMatch]:
    """The move, applied to a reduction whose terms may come in any order."""

    def rule(func: PrimFunc) -> Rule | NoMatch:
        made = move(func)
        return replace(made, any_order=True) if isinstance(made, Reorder) else made

    return rule


# -- instances that run again ------------------------------------------------------------------------------------------


def recompute(
    path: Path, source: Path, loops: Sequence[NewLoop], guards: Sequence[Expr], instance: tuple[Expr, ...]
) -> Recompute:
    """``S(instance)``, within loops and conditions, once more before the statement at ``path``; S is at ``source``."""
    return Recompute(path, source, nest(loops, guards, _hole(0)), instance)


# -- branches ----------------------------------------------------------------------------------------------------------


@_builder
def introduce(func: PrimFunc, path: Path, condition: Expr, count: int = 1) -> Reorder | NoMatch:
    """``S`` ⟶ ``if c: S else: S``, where S is ``count`` statements of a sequence."""
    leaf: Leaf = ((0,), count) if count > 1 else ((), 1)
    return _reorder(path, count, [leaf], If(condition, _hole(0), _hole(1)), _same(0), _same(0))


@_builder
def merge(func: PrimFunc, path: Path) -> Reorder | NoMatch:
    """``if c: S else: S`` ⟶ ``S``."""
    match at(func.body, path):
        case If(then_body=a, else_body=b) if structural_equal(a, SKIP if b is None else b):
            if b is None:
                return _reorder(path, 1, [], SKIP)
            return _reorder(path, 1, [((0,), 1), ((1,), 1)], _hole(0), (*_same(0), *_same(1)))
    return NoMatch(path, "not a branch with the same statement on both sides")


@_builder
def decide(func: PrimFunc, path: Path, value: bool) -> Reorder | NoMatch:
    """``if c: S else: T`` ⟶ ``S`` (``value`` true) or ``T``."""
    branch = at(func.body, path)
    if not isinstance(branch, If):
        return NoMatch(path, "not a branch")
    leaves: list[Leaf] = [((k,), 1) for k in range(1 if branch.else_body is None else 2)]
    if value or branch.else_body is not None:
        return _reorder(path, 1, leaves, _hole(0), _same(0 if value else 1))
    return _reorder(path, 1, leaves, SKIP)


@_builder
def hoist(func: PrimFunc, path: Path) -> Reorder | NoMatch:
    """``for i: if c: S [else: T]`` ⟶ ``if c: for i: S [else: for i: T]``."""
    match at(func.body, path):
        case For(var=v, body=If(condition=c, else_body=other)) as loop:
            if v in free_vars(c):
                return NoMatch(path, f"the condition depends on {v.name}")
            first, w = _around(loop, _hole(0)), _again(loop)
            if other is None:
                return _reorder(path, 1, [((0, 0), 1)], If(c, first), _over(0, v, v))
            new = If(c, first, _around(loop, _hole(1), w))
            return _reorder(path, 1, [((0, 0), 1), ((0, 1), 1)], new, _over(0, v, v), _over(1, w, v))
    return NoMatch(path, "not a loop directly over a branch")


@_builder
def sink(func: PrimFunc, path: Path) -> Reorder | NoMatch:
    """``if c: for i: S`` ⟶ ``for i: if c: S``."""
    match at(func.body, path):
        case If(condition=c, then_body=For(var=v) as loop, else_body=None):
            return _reorder(path, 1, [((0, 0), 1)], _around(loop, If(c, _hole(0))), _over(0, v, v))
    return NoMatch(path, "not a branch (without else) over a loop")


@_builder
def reshape(func: PrimFunc, path: Path, how: Literal["nest", "unnest", "negate", "split", "trim"]) -> Reorder | NoMatch:
    """Rewrite a branch into an equivalent one.

    * nest, unnest: ``if a and b: S`` ⟷ ``if a: if b: S``
    * negate: ``if c: S else: T`` ⟶ ``if not c: T else: S``
    * split: ``if c: S else: T`` ⟶ ``if c: S; if not c: T``
    * trim: ``if c: S else: pass`` ⟶ ``if c: S``
    """
    both: list[Leaf] = [((0,), 1), ((1,), 1)]
    match how, at(func.body, path):
        case "nest", If(condition=Binary(op="and", a=a, b=b), else_body=None):
            return _reorder(path, 1, both[:1], If(a, If(b, _hole(0))), _same(0))
        case "unnest", If(condition=a, then_body=If(condition=b, else_body=None), else_body=None):
            return _reorder(path, 1, [((0, 0), 1)], If(Binary("and", a, b), _hole(0)), _same(0))
        case "negate", If(condition=c, else_body=other):
            flipped = c.a if isinstance(c, Not) else Not(c)
            if other is None:
                return _reorder(path, 1, both[:1], If(flipped, SKIP, _hole(0)), _same(0))
            return _reorder(path, 1, both, If(flipped, _hole(0), _hole(1)), _same(1), _same(0))
        case "split", If(condition=c, else_body=Stmt()):
            return _reorder(path, 1, both, Seq((If(c, _hole(0)), If(Not(c), _hole(1)))), _same(0), _same(1))
        case "trim", If(condition=c, else_body=other) if other is SKIP:
            return _reorder(path, 1, both[:1], If(c, _hole(0)), _same(0))
    return NoMatch(path, f"no branch of the form that {how!r} needs")


__all__ = [
    "NewLoop",
    "decide",
    "fission",
    "fuse",
    "hoist",
    "in_any_order",
    "introduce",
    "join_index_sets",
    "merge",
    "nest",
    "recompute",
    "reindex",
    "reshape",
    "sink",
    "split_index_set",
    "swap",
    "unroll",
]  # fmt: skip
