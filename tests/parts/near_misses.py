"""Programs that differ from a given one in a place or two: wrong transformations, and right ones that look wrong.

    @given(data())
    def test(data):
        other = data.draw(near_misses(func))

A change is one of the classic mistakes (an index or extent off by one, a guard dropped, statements swapped, another
operator, a narrower type, an initialisation forgotten), or a law of the integers or of the reals that holds for some
types, some operands, some ranges (``x + 0.0``, ``(x * 2) // 2``, ``min(a, b)`` commuted, a loop reversed or split).
So both answers to "is it the same?" are common, and which it is, is rarely plain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, final

from hypothesis import strategies as st

from tests.parts.expression_changes import DIVIDED, expression_changes
from tests.parts.statement_changes import statement_changes
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Expr, LetExpr, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import IRError, Node
from verified_tir.ir.stmt import Block, For, IterVar, LetStmt, Region, Stmt
from verified_tir.ir.visit import children, map_children, refresh_binders, walk
from verified_tir.ir.wellformed import problem

_MOST_NODES: Final = 1500
_OFTEN: Final = {
    "a sum in another order": 9, "another kind of loop": 5, "another association": 5, "a loop reversed": 3,
    "loops exchanged": 3, "undef made a number": 3, "a minimum spelled out": 3, "operands exchanged": 2,
    "a law of the reals": 2, "a law of the integers": 2, "a sign dropped": 2, "no iteration": 2, "another operator": 2,
    "a start off by one": 2,
}  # fmt: skip
"""Kinds that are hard to judge, or apply at few places, are drawn more often."""
Made: TypeAlias = Callable[[], Node]


@final
@dataclass(frozen=True, slots=True)
class Change:
    """One change of one node: a name, ``"drop guard"``, the number of the node, and what it becomes."""

    name: str
    position: int
    made: Made


def near_misses(func: PrimFunc, *, most: int = 2) -> st.SearchStrategy[PrimFunc]:
    """Well-formed programs that differ from ``func`` in one to ``most`` changes (or none, where none applies)."""
    return choices(most=most).map(lambda numbers: near_miss(func, numbers))


def choices(*, most: int = 2) -> st.SearchStrategy[tuple[int, ...]]:
    """What :func:`near_miss` takes, for programs that are not known when it is drawn: pairs of numbers."""
    number = st.integers(0, 9999)
    return st.lists(st.tuples(number, number), min_size=1, max_size=most).map(lambda pairs: sum(pairs, ()))


def near_miss(func: PrimFunc, numbers: Sequence[int]) -> PrimFunc:
    """The program with the changes that some numbers mean for it: which kind, and which of that kind.

    Of a change that comes out ill-formed the next one is taken; where none is left, the program stays as it is.
    """
    for kind, which in zip(numbers[::2], numbers[1::2], strict=True):
        func = _changed(func, kind, which)
    return func


def _changed(func: PrimFunc, kind: int, which: int) -> PrimFunc:
    by_name: dict[str, list[Change]] = {}
    for change in changes(func):
        by_name.setdefault(change.name, []).append(change)
    names = [name for name in sorted(by_name) for _ in range(_OFTEN.get(name, 1))]
    for turn in range(min(12, len(names))):
        named = by_name[names[(kind + turn) % len(names)]]
        for k in range(min(3, len(named))):
            found = apply(func, named[(which + k) % len(named)])
            if found is not None and found.body is not func.body:
                return found
    return func


def divided(func: PrimFunc, which: int) -> tuple[PrimFunc, PrimFunc]:
    """The program with one of its integers divided, rounding down and rounding towards zero; itself, if none can be."""
    found = [c for c in changes(func) if c.name == DIVIDED]
    if not found:
        return func, func
    k = 2 * (which % (len(found) // 2))
    return apply(func, found[k]) or func, apply(func, found[k + 1]) or func


def changes(func: PrimFunc) -> list[Change]:
    """Every change that could be made, in the order of the program's nodes; some come out ill-formed."""
    params = [p for p in func.params if isinstance(p.type, DType)]
    found: list[Change] = []
    for position, (node, scope) in enumerate(_places(func.body, tuple(params))):
        if position > _MOST_NODES:
            break
        made = (
            expression_changes(node, scope) if isinstance(node, Expr)
            else statement_changes(node) if isinstance(node, Stmt)
            else ()
        )  # fmt: skip
        found.extend(Change(name, position, f) for name, f in made)
    return found


def apply(func: PrimFunc, change: Change) -> PrimFunc | None:
    """The changed program; ``None`` if there is none, or it is ill-formed."""
    try:
        body = _replaced(func.body, change.position, change.made())
        found = func.with_body(body)
    except IRError:
        return None
    if problem(found) is not None:  # code that was doubled binds its variables twice
        found = func.with_body(_refreshed(body))
        if problem(found) is not None:
            return None
    return found


def _refreshed(body: Stmt) -> Stmt:
    """With fresh variables in every statement that stands at two places."""
    seen: set[Node] = set()

    def go(node: Node) -> Node:
        if isinstance(node, Stmt) and node in seen:
            return refresh_binders(node)[0]
        if isinstance(node, Stmt):
            seen.update(n for n in [node] if _binds(n))
        return map_children(node, go) if isinstance(node, Stmt) else node

    return go(body)  # type: ignore[return-value]


def _binds(node: Node) -> bool:
    return isinstance(node, (For, LetStmt, Block)) or any(isinstance(n, (For, LetStmt, Block)) for n in walk(node))


# ----------------------------------------------------------------------------------------------------------- places


def _places(root: Node, scope: tuple[Var, ...]) -> Iterator[tuple[Node, tuple[Var, ...]]]:
    """Expressions and statements with the variables in scope, parents first, in the order in which :func:`_replaced`
    counts them."""
    yield root, scope
    for child in _below(root):
        yield from _places(child, (*scope, *_bound(root)))


def _below(node: Node) -> Sequence[Node]:
    """What is visited beneath a node: no buffers, no declared regions, no variable where it is bound."""
    binders = set(_binders(node))
    return [c for c in children(node) if not isinstance(c, Buffer | Region) and c not in binders]


def _binders(node: Node) -> list[Var]:
    match node:
        case For(var=v) | LetStmt(var=v) | LetExpr(var=v) | IterVar(var=v):
            return [v]
        case _:
            return []


def _bound(node: Node) -> list[Var]:
    """Variables that may be used beneath a node; at some of its children they are not in scope yet, which shows."""
    if isinstance(node, Block):
        return [iv.var for iv in node.iter_vars]
    return _binders(node)


def _replaced(root: Stmt, position: int, new: Node) -> Stmt:
    count = -1

    def go(node: Node) -> Node:
        nonlocal count
        if count >= position:
            return node
        count += 1
        if count == position:
            return new
        binders = set(_binders(node))
        return map_children(node, lambda c: c if isinstance(c, Buffer | Region) or c in binders else go(c))

    return go(root)  # type: ignore[return-value]
