"""Paths: places in a program.

A path is a tuple of positions; each step picks one of the direct sub-statements (``visit.sub_statements``): the body of
a loop is ``(0,)``, the else branch of an ``if`` is ``(1,)``, the third statement of a sequence is ``(2,)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias, TypeVar

from verified_tir.ir.node import IRError
from verified_tir.ir.stmt import For, Seq, Stmt, seq
from verified_tir.ir.visit import map_children, sub_statements

Path: TypeAlias = tuple[int, ...]
S = TypeVar("S", bound=Stmt)


def at(root: Stmt, path: Path) -> Stmt:
    """The statement at ``path``.

    :raises IRError: if there is no such place.
    """
    for step in path:
        subs = sub_statements(root)
        if not 0 <= step < len(subs):
            raise IRError(f"no statement at step {step} of path {path}")
        root = subs[step]
    return root


def loops_around(root: Stmt, path: Path) -> list[For]:
    """The loops in a statement around a place, outermost first."""
    return [s for s in (at(root, path[:k]) for k in range(len(path))) if isinstance(s, For)]


def put(root: Stmt, path: Path, new: Stmt) -> Stmt:
    """``root`` with the statement at ``path`` replaced; untouched subtrees stay the same objects.

    Where a sequence takes the place of a statement of a sequence it is spliced, so paths behind it may shift.  Nothing
    else is: paths stay as they are where statements are put in the place of such as they are themselves.
    """
    if not path:
        return new
    step, rest = path[0], path[1:]
    old = sub_statements(root)
    parts = [put(s, rest, new) if k == step else s for k, s in enumerate(old)]
    if isinstance(root, Seq) and isinstance(new, Seq) and not rest and not isinstance(old[step], Seq):
        return seq(*parts)
    remaining = iter(parts)
    return map_children(root, lambda c: next(remaining) if isinstance(c, Stmt) else c)


def places(root: Stmt, wanted: Callable[[Stmt], bool]) -> Iterator[tuple[Path, Stmt]]:
    """Every place whose statement is wanted, in program order."""

    pending: list[tuple[Path, Stmt]] = [((), root)]
    while pending:
        path, stmt = pending.pop()
        if wanted(stmt):
            yield path, stmt
        subs = sub_statements(stmt)
        pending.extend([((*path, k), subs[k]) for k in range(len(subs) - 1, -1, -1)])
