"""Builders of rules, most of them :class:`~verified_tir.kernel.rules.reorder.Reorder`: the same in another order.

Each function says what its picture shows.  The new nest and its maps are written down here; that they are right is
proved by the kernel, so nothing rests on this file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Concatenate, Literal, ParamSpec, TypeAlias, final

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
from verified_tir.kernel.rules.same import Same
from verified_tir.kernel.step import Rule

P = ParamSpec("P")

Leaf = tuple[Path, int]

RuleBuilder: TypeAlias = Callable[[PrimFunc], Rule | NoMatch]
"""A function that builds a rule for a program, or says why the rule does not apply.

``Session.apply`` and ``Session.attempt`` take rule builders as they take rules.
"""


def builder(
    make: Callable[Concatenate[Stmt, Path, P], Stmt | Rule | str],
) -> Callable[Concatenate[Path, P], RuleBuilder]:
    """Make a rule builder of a place, and of further arguments, out of what builds a rule for the statement there.

    That may also give the statement with other labels, or say why the rule does not apply.
    """

    @wraps(make)
    def made(path: Path, /, *arguments: P.args, **named: P.kwargs) -> RuleBuilder:
        def rule(func: PrimFunc) -> Rule | NoMatch:
            try:
                found = make(at(func.body, path), path, *arguments, **named)
            except IRError as problem:
                found = str(problem)
            if isinstance(found, Stmt):
                return Same(path, found)
            return NoMatch(path, found) if isinstance(found, str) else found

        rule.__name__ = make.__name__
        return rule

    return made


def hole(number: int) -> Stmt:
    """The statement that stands for a hole of a skeleton."""
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


def _pair(stmt: Stmt, position: int) -> tuple[Stmt, Stmt]:
    """Two adjacent statements of a sequence.

    :raises IRError: if there are none.
    """
    match stmt:
        case Seq(stmts=stmts) if 0 <= position < len(stmts) - 1:
            return stmts[position], stmts[position + 1]
    raise IRError("there are no two adjacent statements here")


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


@builder
def reindex(
    stmt: Stmt,
    path: Path,
    depth: int,
    loops: tuple[NewLoop, ...],
    guards: tuple[Expr, ...],
    old_of_new: tuple[Expr, ...],
    new_of_old: tuple[Expr, ...],
) -> Reorder | str:
    """
        for x₁ … xₙ (with guards):            for y₁ … yₘ:
            S(x)                     ⟶            if guards(y): S(g(y))

    The nest of ``depth`` statements (loops, guards, labels) at ``path`` becomes ``loops`` and ``guards``.

    :param old_of_new: g, one expression over the new variables for each old loop, outermost first.
    :param new_of_old: h, one expression over the old variables for each new loop.
    """
    labels = list[Block]()
    for _ in range(depth):
        match stmt:
            case Block(is_label=True, body=body) as label:
                labels.append(label)
                stmt = body
            case For(body=body) | If(then_body=body, else_body=None):
                stmt = body
            case _:
                return "the nest contains something other than loops and guards"
    new = hole(0)
    for label in reversed(labels):
        new = Block.label(label.name, new, label.annotations)
    return _reorder(path, 1, [((0,) * depth, 1)], nest(loops, guards, new), [(0, old_of_new, new_of_old)])


@builder
def unroll(stmt: Stmt, path: Path) -> Reorder | str:
    """``for i in [a, a + n): S`` ⟶ ``S[i := a]; S[i := a + 1]; … S[i := a + n - 1]``, of constants."""
    match stmt:
        case For(var=v, min=IntImm(value=low), extent=IntImm(value=n)) if n > 0:
            if low + n - 1 > v.dtype.max_value:
                return f"the loop's last value does not fit {v.dtype}"
            links = [[(0, (const(low + k, v.dtype),), ())] for k in range(n)]
            return _reorder(path, 1, [((0,), 1)], seq(*map(hole, range(n))), *links)
    return "not a loop with a constant start and a positive constant extent"


@builder
def swap(stmt: Stmt, path: Path, position: int) -> Reorder | str:
    """``A; B`` ⟶ ``B; A`` for the two statements of the sequence at ``path`` that start at ``position``."""
    _pair(stmt, position)
    return _reorder((*path, position), 2, [((0,), 1), ((1,), 1)], Seq((hole(0), hole(1))), _same(1), _same(0))


@builder
def fission(stmt: Stmt, path: Path, position: int) -> Reorder | str:
    """Loop fission: ``for i: A; B`` ⟶ ``for i: A`` then ``for i: B``, split before statement ``position`` of the body;
    likewise ``if c: A; B``."""
    match stmt:
        case For(body=Seq(stmts=stmts)) as loop if 0 < position < len(stmts):
            v, w = loop.var, _again(loop)
            new = Seq((_around(loop, hole(0)), _around(loop, hole(1), w)))
            links = [_over(0, v, v), _over(1, w, v)]
        case If(condition=c, then_body=Seq(stmts=stmts), else_body=None) if 0 < position < len(stmts):
            new = Seq((If(c, hole(0)), If(c, hole(1))))
            links = [_same(0), _same(1)]
        case _:
            return "not a loop (or an if without else) over a sequence that can be split there"
    return _reorder(path, 1, [((0, 0), position), ((0, position), len(stmts) - position)], new, *links)


@builder
def fuse(stmt: Stmt, path: Path, position: int) -> Reorder | str:
    """Loop fusion: ``for i: A`` then ``for j: B`` ⟶ ``for i: A; B[i]``, neighbours in the sequence at ``path``."""
    a, b = _loops(stmt, position)
    new = _around(a, Seq((hole(0), hole(1))))
    links = _over(0, a.var, a.var), _over(1, a.var, b.var)
    return _reorder((*path, position), 2, [((0, 0), 1), ((1, 0), 1)], new, *links)


def _loops(stmt: Stmt, position: int) -> tuple[For, For]:
    """Two adjacent loops of one type and kind.

    :raises IRError: if there are none.
    """
    a, b = _pair(stmt, position)
    if not (isinstance(a, For) and isinstance(b, For)):
        raise IRError("the two statements are not both loops")
    if a.var.dtype is not b.var.dtype or (a.kind, a.thread) != (b.kind, b.thread):
        raise IRError("the two loops differ in type or kind")
    return a, b


@builder
def split_index_set(stmt: Stmt, path: Path, mid: Expr) -> Reorder | str:
    """Index-set splitting: ``for i in [a, b): S`` ⟶ ``for i in [a, mid): S`` then ``for i in [mid, b): S``."""
    match stmt:
        case For(var=v, min=low, extent=extent) if mid.dtype is v.dtype:
            w = _again(stmt)
            first = replace(stmt, extent=mid - low, body=hole(0))
            second = replace(stmt, var=w, min=mid, extent=low + extent - mid, body=hole(1))
            return _reorder(path, 1, [((0,), 1)], Seq((first, second)), _over(0, v, v), _over(0, w, v))
        case For(var=v):
            return f"the middle has type {mid.dtype}, the loop {v.dtype}"
    return "not a loop"


@builder
def join_index_sets(stmt: Stmt, path: Path, position: int) -> Reorder | str:
    """``for i in [a, mid): S`` then ``for i in [mid, b): S`` ⟶ ``for i in [a, b): S``: index-set splitting read
    backwards."""
    a, b = _loops(stmt, position)
    new = replace(a, extent=a.extent + b.extent, body=hole(0))
    links = (*_over(0, a.var, a.var), *_over(1, a.var, b.var))
    return _reorder((*path, position), 2, [((0, 0), 1), ((1, 0), 1)], new, links)


def in_any_order(move: RuleBuilder) -> RuleBuilder:
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
    return Recompute(path, source, nest(loops, guards, hole(0)), instance)


# -- branches ----------------------------------------------------------------------------------------------------------


@builder
def introduce(stmt: Stmt, path: Path, condition: Expr, count: int = 1) -> Reorder | str:
    """``S`` ⟶ ``if c: S else: S``, where S is ``count`` statements of a sequence."""
    leaf: Leaf = ((0,), count) if count > 1 else ((), 1)
    return _reorder(path, count, [leaf], If(condition, hole(0), hole(1)), _same(0), _same(0))


@builder
def merge(stmt: Stmt, path: Path) -> Reorder | str:
    """``if c: S else: S`` ⟶ ``S``."""
    match stmt:
        case If(then_body=a, else_body=b) if structural_equal(a, SKIP if b is None else b):
            if b is None:
                return _reorder(path, 1, [], SKIP)
            return _reorder(path, 1, [((0,), 1), ((1,), 1)], hole(0), (*_same(0), *_same(1)))
    return "not a branch with the same statement on both sides"


@builder
def decide(stmt: Stmt, path: Path, value: bool) -> Reorder | str:
    """``if c: S else: T`` ⟶ ``S`` (``value`` true) or ``T``."""
    if not isinstance(stmt, If):
        return "not a branch"
    leaves: list[Leaf] = [((k,), 1) for k in range(1 if stmt.else_body is None else 2)]
    if value or stmt.else_body is not None:
        return _reorder(path, 1, leaves, hole(0), _same(0 if value else 1))
    return _reorder(path, 1, leaves, SKIP)


@builder
def hoist(stmt: Stmt, path: Path) -> Reorder | str:
    """``for i: if c: S [else: T]`` ⟶ ``if c: for i: S [else: for i: T]``."""
    match stmt:
        case For(var=v, body=If(condition=c, else_body=other)) as loop:
            if v in free_vars(c):
                return f"the condition depends on {v.name}"
            first, w = _around(loop, hole(0)), _again(loop)
            if other is None:
                return _reorder(path, 1, [((0, 0), 1)], If(c, first), _over(0, v, v))
            new = If(c, first, _around(loop, hole(1), w))
            return _reorder(path, 1, [((0, 0), 1), ((0, 1), 1)], new, _over(0, v, v), _over(1, w, v))
    return "not a loop directly over a branch"


@builder
def sink(stmt: Stmt, path: Path) -> Reorder | str:
    """``if c: for i: S`` ⟶ ``for i: if c: S``."""
    match stmt:
        case If(condition=c, then_body=For(var=v) as loop, else_body=None):
            return _reorder(path, 1, [((0, 0), 1)], _around(loop, If(c, hole(0))), _over(0, v, v))
    return "not a branch (without else) over a loop"


@builder
def reshape(stmt: Stmt, path: Path, how: Literal["nest", "unnest", "negate", "split", "trim"]) -> Reorder | str:
    """Rewrite a branch into an equivalent one.

    * nest, unnest: ``if a and b: S`` ⟷ ``if a: if b: S``
    * negate: ``if c: S else: T`` ⟶ ``if not c: T else: S``
    * split: ``if c: S else: T`` ⟶ ``if c: S; if not c: T``
    * trim: ``if c: S else: pass`` ⟶ ``if c: S``
    """
    both: list[Leaf] = [((0,), 1), ((1,), 1)]
    match how, stmt:
        case "nest", If(condition=Binary(op="and", a=a, b=b), else_body=None):
            return _reorder(path, 1, both[:1], If(a, If(b, hole(0))), _same(0))
        case "unnest", If(condition=a, then_body=If(condition=b, else_body=None), else_body=None):
            return _reorder(path, 1, [((0, 0), 1)], If(Binary("and", a, b), hole(0)), _same(0))
        case "negate", If(condition=c, else_body=other):
            flipped = c.a if isinstance(c, Not) else Not(c)
            if other is None:
                return _reorder(path, 1, both[:1], If(flipped, SKIP, hole(0)), _same(0))
            return _reorder(path, 1, both, If(flipped, hole(0), hole(1)), _same(1), _same(0))
        case "split", If(condition=c, else_body=Stmt()):
            return _reorder(path, 1, both, Seq((If(c, hole(0)), If(Not(c), hole(1)))), _same(0), _same(1))
        case "trim", If(condition=c, else_body=other) if other is SKIP:
            return _reorder(path, 1, both[:1], If(c, hole(0)), _same(0))
    return f"no branch of the form that {how!r} needs"


__all__ = [
    "NewLoop",
    "RuleBuilder",
    "builder",
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
