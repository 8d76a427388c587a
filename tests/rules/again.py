"""Grammars for recomputed instances, and for statements whose stores are dead."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.rules.building import load, store
from tests.rules.family import Family
from tests.rules.pool import Word, X, Y, integers, let, local, loop, n, plus, view
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, Select, Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Allocate, Assume, If, Stmt, While, seq
from verified_tir.ir.sugar import binary, const
from verified_tir.ir.visit import free_vars
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.theorem import Rule
from verified_tir.schedule.moves import NewLoop, recompute

Made = tuple[PrimFunc, Sequence[Rule]]

SOURCES: tuple[Word, ...] = (
    lambda i: store(X, load(Y, i), i),
    lambda i: store(X, 7, i),
    lambda i: store(X, load(X, i) + 1, i),
    lambda i: store(X, load(X, plus(i, 1)), i),
    lambda i: store(X, i, 0),
    lambda i: store(X, Undef(X.dtype), i),
    lambda i: seq(store(X, 0, i), store(X, load(X, i) + load(Y, i), i)),
    lambda i: seq(store(X, load(X, i) + 1, i), store(X, 0, i)),
    lambda i: seq(store(X, 0, i), loop(2, lambda k: store(X, load(X, i) + load(Y, k), i), name="k")),
    lambda i: loop(2, lambda k: seq(If(k.equal(0), store(X, 0, i)), store(X, load(X, i) + load(Y, k), i)), name="k"),
    lambda i: loop(n, lambda k: seq(If(k.equal(0), store(X, 0, i)), store(X, load(X, i) + load(Y, k), i)), name="k"),
    lambda i: loop(load(Y, i), lambda k: store(X, k, i), name="k"),
    lambda i: loop(load(X, 0), lambda k: store(X, k, plus(i, 1)), name="k"),
    lambda i: If(load(Y, i) > 0, store(X, 1, i)),
    lambda i: If(load(X, i) > 0, store(X, 1, i), store(X, 0, i)),
    lambda i: If(load(X, i) > 0, store(X, 1, plus(i, 2))),
    lambda i: let(load(X, plus(i, 2)), lambda v: seq(store(X, v, i), store(Y, v, i))),
    lambda i: local(lambda t: seq(store(t, load(Y, i), 0), store(X, load(t, 0), i))),
    lambda i: local(lambda t: store(X, load(t, 0), i)),
    lambda i: seq(store(X, 1, load(Y, i)), store(X, load(X, i), plus(i, 1))),
    lambda i: seq(store(Y, i, 0), store(X, load(Y, 0), i)),
    lambda i: seq(Assume(load(Y, i) >= 0), store(X, load(Y, i), i)),
)
"""What runs, and may run again; in some a run reads what it or another one stores."""

BETWEEN: tuple[Callable[[], Stmt] | None, ...] = (
    None,
    lambda: store(Y, 5, 1),
    lambda: store(X, 5, 1),
    lambda: If(load(Y, 0) > 1, store(X, 5, 0)),
    lambda: loop(2, lambda k: store(X, 3, plus(k, 2)), name="k"),
    lambda: While(load(X, 1) > 1, store(X, load(X, 1) - 1, 1)),
    lambda: view(lambda v: store(v, 4, 0, 1)),
)
USERS: tuple[Word, ...] = (
    lambda j: store(Y, load(X, j), j),
    lambda j: store(X, load(X, j) + 1, plus(j, 2)),
    lambda j: store(X, load(X, j) + 1, j),
    lambda j: If(load(X, j) > 0, store(Y, 2, 3)),
    lambda j: store(X, 9, plus(j, 1)),
)
WITNESSES: tuple[Callable[[Expr, Expr], Expr], ...] = (
    lambda j, p: j,
    lambda j, p: p,
    plus,
    lambda j, p: const(0),
    lambda j, p: const(1),
    lambda j, p: 1 - j,
    lambda j, p: j - 1,
    lambda j, p: binary("min", n, 2) - 1,
    lambda j, p: load(Y, 0) % 2,
    lambda j, p: j * 1073741824 + j * 1073741824 - j * 1073741824 * 2,
)
EXTENTS: tuple[Expr | int, ...] = (2, n, 3, load(Y, 0))


def _nests(p: Var, j: Expr) -> list[tuple[tuple[NewLoop, ...], tuple[Expr, ...]]]:
    """No loop, one of two iterations, one with a guard, one that may be empty."""
    loops = (NewLoop(p, const(0), const(2)),)
    return [((), ()), (loops, ()), (loops, (binary("lt", plus(p, j), 2),)), ((NewLoop(p, const(0), n),), ())]


def _repeated(extent: int, source: Word, guarded: int, between: int, user: Word, where: int) -> Made:
    """``for i: S(i)``, something, then ``for j: U(j)``, in which or before which instances run again."""

    def first(i: Var) -> Stmt:
        body = source(i)
        body = If(binary("lt", i, 1), body) if guarded == 1 else body
        return seq(body, store(X, 8, plus(i, 1))) if guarded == 2 else body

    middle = BETWEEN[between]
    producer = loop(const(EXTENTS[extent]), first)
    consumer = loop(2, (lambda j: seq(user(j), store(Y, 6, 3))) if where == 1 else user, name="j")
    parts = [producer, *([] if middle is None else [middle()]), consumer]
    last = len(parts) - 1
    inner = (0, 0, 0) if guarded else (0, 0)
    place = ((last, 0), (last, 0, 1), (last,))[where]
    j: Expr = consumer.var if where < 2 else const(0)
    rules: list[Rule] = []
    for value in WITNESSES:
        for nest in range(4):
            p = Var.fresh("p")
            loops, guards = _nests(p, j)[nest]
            if loops or p not in free_vars(value(j, p)):
                rules.append(recompute(place, inner, loops, guards, (value(j, p),)))
    rules.append(recompute(place, (0,), (), (), ()))
    return integers(seq(*parts)), rules


def _by_memory(known: int, extent: int, first: int, inner: int, last: int, value: int) -> Made:
    """Conditions around the source, and values of its variable, that memory holds; S or others may store there."""
    claims = (load(X, 3) > 0, load(X, 3).equal(0), load(Y, 0).equal(0), load(Y, 0).equal(1))
    stores: tuple[Word | None, ...] = (
        None,
        lambda i: store(Y, 1, 0),
        lambda i: store(Y, 0, 0),
        lambda i: store(X, 0, plus(i, 2)),
        lambda i: store(X, 4, i),
    )

    def run(i: Var) -> Stmt:
        words = [stores[w] for w in (first, inner, last)]
        body = seq(*[word(i) for word in words if word is not None])
        return body if known % 3 == 0 else If(claims[known % 2], body)

    claim = Assume(claims[known % 4])
    second = claims[2 + value] if known % 4 < 2 else claims[value]
    parts = [claim, loop(extent, run), Assume(second), store(Y, 7, 2)]
    source = (1, 0) if known % 3 == 0 else (1, 0, 0)
    values = (load(Y, 0), load(X, 3), const(0), const(1), load(Y, 0) + 1)
    return integers(seq(*parts)), [recompute((3,), source, (), (), (w,)) for w in values]


FILLS: tuple[Callable[[Buffer], Stmt], ...] = (
    lambda t: store(t, 1, 0),
    lambda t: loop(3, lambda i: store(t, load(X, i), i)),
    lambda t: loop(n, lambda i: store(t, 2, i)),
    lambda t: loop(3, lambda i: store(t, load(t, 0) + 1, i)),
    lambda t: If(load(X, 0) > 0, loop(3, lambda i: store(t, 3, i))),
    lambda t: seq(store(t, 1, 0), store(X, 1, 0)),
    lambda t: store(t, Undef(t.dtype), 0),
    lambda t: loop(2, lambda i: store(t, Select(i.equal(0), const(1), Undef(t.dtype)), i)),
)
READERS: tuple[Callable[[Buffer], Stmt], ...] = (
    lambda t: store(t, 5, 0),
    lambda t: store(Y, load(t, 0), 0),
    lambda t: loop(3, lambda j: store(t, j, j), name="j"),
    lambda t: loop(3, lambda j: seq(store(t, load(Y, j), j), store(Y, load(t, j), 0)), name="j"),
    lambda t: loop(2, lambda j: seq(store(t, j, plus(j, 1)), store(Y, load(t, j), 0)), name="j"),
    lambda t: loop(2, lambda j: seq(If(j.equal(0), store(t, 4, 0)), store(Y, load(t, 0), j)), name="j"),
    lambda t: loop(2, lambda j: seq(If(j.equal(1), store(t, 4, 0)), store(Y, load(t, 0), j)), name="j"),
    lambda t: loop(3, lambda j: store(Y, load(t, j), j), name="j"),
    lambda t: loop(n, lambda j: store(t, 6, j), name="j"),
    lambda t: loop(load(Y, 0), lambda j: store(t, 6, j), name="j"),
    lambda t: loop(2, lambda j: seq(store(t, 6, load(Y, j)), store(Y, load(t, load(Y, j)), j)), name="j"),
    lambda t: If(load(Y, 1) > 0, store(t, 4, 0)),
    lambda t: If(load(t, 0) > 0, store(t, 4, 0)),
    lambda t: While(load(Y, 0) > 0, seq(store(Y, load(Y, 0) - 1, 0), store(t, 4, 0))),
    lambda t: While(load(t, 0) > 0, store(t, load(t, 0) - 1, 0)),
)


def _dead_at_end(fill: int, first: int, second: int, around: int) -> Made:
    """``t = alloc; S; A; A'`` where S filled t: does anybody see what it stored?"""
    t = Buffer.declare("t", (3,), "int32")
    parts = [FILLS[fill](t), READERS[first](t), READERS[second](t)]
    flat = [s for p in parts for s in (p.stmts if hasattr(p, "stmts") else (p,))]
    body: Stmt = seq(*parts)
    if around == 1:
        body = seq(If(load(X, 1) > 0, seq(*parts[:2])), parts[2])
        paths: list[tuple[int, ...]] = [(0, 0, 0), (0, 0), (0, 0, 1)]
    elif around == 2:
        body = loop(2, lambda i: seq(*parts), name="o")
        paths = [(0, 0, 0), (0, 0, 1)]
    else:
        paths = [(0, k) for k in range(len(flat))]
    return integers(Allocate(t, body)), [Erase(p, dead_at_end=True) for p in paths]


FAMILIES = (
    Family(
        "recomputed",
        ((*range(len(EXTENTS)),), SOURCES, (0, 0, 1, 2), (*range(len(BETWEEN)),), USERS, (0, 1, 2)),
        _repeated,
        sizes=(0, 1, 2),
        thin=91,
    ),
    Family(
        "by memory",
        ((*range(6),), (1, 2, 3), (*range(5),), (*range(1, 5),), (*range(5),), (0, 1)),
        _by_memory,
    ),
    Family(
        "dead at the end",
        ((*range(len(FILLS)),), (*range(len(READERS)),), (*range(len(READERS)),), (0, 1, 2)),
        _dead_at_end,
    ),
)
