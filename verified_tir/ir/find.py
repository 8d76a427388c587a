"""What tactics and tests look for in programs; the kernel needs none of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TypeVar

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Call, Expr, LetExpr, Load, Var
from verified_tir.ir.func import IRModule, PrimFunc
from verified_tir.ir.index_arith import is_index
from verified_tir.ir.node import Node, once
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import Allocate, Block, For, LetStmt, Stmt, Store
from verified_tir.ir.visit import nodes_of, rewrite, sub_statements, walk

N = TypeVar("N", bound=Node)
S = TypeVar("S", bound=Stmt)


def loop_path(func: PrimFunc, var: Var) -> Path | None:
    """Where the loop over ``var`` stands."""
    return next((p for p, _ in places_of(func.body, For, lambda s: s.var is var)), None)


def block_path(func: PrimFunc, name: str) -> Path | None:
    """Where the first block called ``name`` stands."""
    return next((p for p, _ in places_of(func.body, Block, lambda s: s.name == name)), None)


def places_of(root: Stmt, kind: type[S], wanted: Callable[[S], bool]) -> Iterator[tuple[Path, S]]:
    """What :func:`places` gives, of statements of one class: it looks only where one that is wanted stands."""
    yield from _places(root, kind, {s for s in nodes_of(root, kind) if wanted(s)}, ())


def _places(root: Stmt, kind: type[S], found: set[S], path: Path) -> Iterator[tuple[Path, S]]:
    """Where those that are found stand at or below ``root``, which stands at ``path``."""
    if root in found:
        yield path, root
    subs, parts = sub_statements(root), _parts_with(kind)(root)
    for k in sorted({k for s in parts.keys() & found for k in parts[s]}):
        yield from _places(subs[k], kind, found, (*path, k))


@cache
def _parts_with(kind: type[S]) -> Callable[[Stmt], Mapping[S, Sequence[int]]]:
    """For each statement of a class below one: which parts of that have it."""

    @once
    def parts_with(root: Stmt) -> Mapping[S, Sequence[int]]:
        found: dict[S, list[int]] = {}
        for k, sub in enumerate(sub_statements(root)):
            for s in nodes_of(sub, kind):
                found.setdefault(s, []).append(k)
        return found

    return parts_with


def local_buffers(node: Node) -> list[Buffer]:
    """What is allocated inside ``node``, by itself or for a block."""
    found: list[Buffer] = []
    for n in walk(node):
        match n:
            case Allocate(buffer=b):
                found.append(b)
            case Block(alloc_buffers=buffers):
                found.extend(buffers)
    return list(dict.fromkeys(found))


def reads_of(node: Node) -> list[Load]:
    """Every load below ``node``."""
    return [n for n in walk(node) if isinstance(n, Load)]


def writes_of(node: Node) -> list[Store]:
    """Every store below ``node``."""
    return [n for n in walk(node) if isinstance(n, Store)]


def substitute_buffers(node: N, mapping: Mapping[Buffer, Buffer]) -> N:
    """Replace buffers by buffers wherever they occur."""
    if not mapping:
        return node
    return rewrite(node, lambda n: mapping.get(n) if isinstance(n, Buffer) else None)


def data_vars(root: Node) -> frozenset[Var]:
    """The variables of lets and blocks below ``root`` that hold data: those whose value is not index arithmetic.

    Variables are bound once in a program, so the set serves every place in it.
    """
    found: set[Var] = set()
    bindings: list[tuple[Var, Expr]] = []
    for node in walk(root):
        match node:
            case LetStmt(var=var, value=value) | LetExpr(var=var, value=value):
                bindings.append((var, value))
            case Block(iter_vars=iter_vars):
                bindings.extend((iv.var, iv.value) for iv in iter_vars)
    size = -1
    while len(found) > size:  # an expression that occurs twice may be met outside of a let that it reads
        size = len(found)
        found.update([var for var, value in bindings if not is_index(value, found)])
    return frozenset(found)


def recursion(module: IRModule) -> list[str] | None:
    """Names of functions that call each other in a circle, in order (the first one again at the end), if any do."""
    calls = {
        name: [n.op[1:] for n in walk(func.body) if isinstance(n, Call) and n.op.startswith("@")]
        for name, func in module.functions
    }
    for start in calls:
        trails: list[list[str]] = [[start]]
        seen: set[str] = set()
        while trails:
            trail = trails.pop()
            for callee in calls.get(trail[-1], ()):
                if callee == start:
                    return [*trail, start]
                if callee not in seen:
                    seen.add(callee)
                    trails.append([*trail, callee])
    return None
