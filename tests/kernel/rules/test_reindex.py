"""Reindex: reversal, shift, split, fuse, interchange, triangles; and maps that are not quite right."""

from __future__ import annotations

from tests.kernel.programs import AB, accepted, gives, program, refused, variable
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.sugar import binary, const
from verified_tir.schedule import moves
from verified_tir.schedule.moves import NewLoop

ABN = AB + ", n: T.int32"
p, q = Var.fresh("p"), Var.fresh("q")


def new(v: Var, extent: Expr | int, low: Expr | int = 0) -> NewLoop:
    return NewLoop(v, const(low), const(extent))


def copy(extent: str = "n", index: str = "i") -> tuple[PrimFunc, Var, Var]:
    f = program(f"for i in range({extent}):\n    A[i] = B[{index}]", ABN)
    return f, variable(f, "i"), variable(f, "n")


def test_reversal() -> None:
    f, i, n = copy()
    back = moves.reindex((), 1, (new(p, n),), (), (n - 1 - p,), (n - 1 - i,))
    gives(f, back, "for p in range(n):\n    A[n - 1 - p] = B[n - 1 - p]")
    f = program("for i in range(3):\n    A[i + 1] = A[i]")
    i = variable(f, "i")
    turned = "dependence: iterations change their order: no dependence between the write and the read of A (Refuted)"
    refused(f, moves.reindex((), 1, (new(p, 3),), (), (2 - p,), (2 - i,)), turned)


def test_a_reversal_may_be_skewed_by_one_only_if_the_witness_knows() -> None:
    f, i, n = copy()
    shifted = new(p, n, 1)
    accepted(f, moves.reindex((), 1, (shifted,), (), (n - p,), (n - i,)))
    once = "bijection: no old iteration is run twice (Refuted)"
    refused(f, moves.reindex((), 1, (shifted,), (), (n - p,), (n - 1 - i,)), once)
    refused(
        f,
        moves.reindex((), 1, (new(p, n),), (), (n - p,), (n - i,)),
        "bijection: every new iteration is an old one",
    )


def test_split() -> None:
    tall = program("T.assume(n < 1000)\nfor i in range(n):\n    A[i] = B[i]", ABN)
    i, n = variable(tall, "i"), variable(tall, "n")
    outer, inside = new(p, (n + 3) // 4), binary("lt", p * 4 + q, n)
    maps = ((p * 4 + q,), (i // 4, i % 4))
    result = """
T.assume(n < 1000)
for p, q in T.grid((n + 3) // 4, 4):
    if p * 4 + q < n:
        A[p * 4 + q] = B[p * 4 + q]
"""
    gives(tall, moves.reindex((1,), 1, (outer, new(q, 4)), (inside,), *maps), result)
    unguarded = moves.reindex((1,), 1, (outer, new(q, 4)), (), *maps)
    refused(tall, unguarded, "bijection: every new iteration is an old one of (i) (Refuted)")
    short = moves.reindex((1,), 1, (new(p, n // 4), new(q, 4)), (inside,), *maps)
    refused(tall, short, "bijection: every old iteration of (i) is run (Refuted)")


def test_the_new_bounds_must_not_overflow() -> None:
    f, i, n = copy()
    split = moves.reindex((), 1, (new(p, (n + 3) // 4), new(q, 4)), (), (p * 4 + q,), (i // 4, i % 4))
    refused(f, split, "safety: n + 3: no overflow (Refuted)")


NEST = "for i in range({}):\n    for j in range({}):\n        A[i] = {}"


def test_interchange() -> None:
    f = program(NEST.format(2, 2, "j"))
    i, j = variable(f, "i"), variable(f, "j")
    swapped = moves.reindex((), 2, (new(p, 2), new(q, 2)), (), (q, p), (j, i))
    gives(f, swapped, "for p, q in T.grid(2, 2):\n    A[q] = p")
    f = program(NEST.format(2, 2, "j").replace("A[i]", "A[i + j]"))
    i, j = variable(f, "i"), variable(f, "j")
    refused(
        f,
        moves.reindex((), 2, (new(p, 2), new(q, 2)), (), (q, p), (j, i)),
        "dependence: iterations change their order",
    )


def test_triangle() -> None:
    f = program(NEST.format("n", "i", "j"), ABN)
    i, j, n = (variable(f, name) for name in "ijn")
    loops = (new(p, n), new(q, n - p - 1, p + 1))
    result = "for p in range(n):\n    for q in range(p + 1, p + 1 + (n - p - 1)):\n        A[q] = p"
    gives(f, moves.reindex((), 2, loops, (), (q, p), (j, i)), result)
    wide = (new(p, n), new(q, n - p, p + 1))
    refused(
        f,
        moves.reindex((), 2, wide, (), (q, p), (j, i)),
        "bijection: every new iteration is an old one of (i, j)",
    )


def test_fused_loops() -> None:
    f = program(NEST.format(2, 3, "j"))
    i, j = variable(f, "i"), variable(f, "j")
    one = moves.reindex((), 2, (new(p, 6),), (), (p // 3, p % 3), (i * 3 + j,))
    gives(f, one, "for p in range(6):\n    A[p // 3] = p % 3")
    refused(f, moves.reindex((), 2, (new(p, 6),), (), (p // 3, p % 2), (i * 3 + j,)), "bijection")
    refused(
        f,
        moves.reindex((), 2, (new(p, 5),), (), (p // 3, p % 3), (i * 3 + j,)),
        "every old iteration of (i, j) is run",
    )


def test_a_guard_of_the_nest_shortens_the_loop() -> None:
    f = program("for i in range(4):\n    if i < 2:\n        A[i] = i")
    i = variable(f, "i")
    gives(f, moves.reindex((), 2, (new(p, 2),), (), (p,), (i,)), "for p in range(2):\n    A[p] = p")
    refused(
        f,
        moves.reindex((), 2, (new(p, 3),), (), (p,), (i,)),
        "bijection: every new iteration is an old one of (i)",
    )


def test_what_does_not_fit() -> None:
    f, i, n = copy()
    refused(f, moves.reindex((), 1, (new(p, n),), (), (i,), (i,)), "variable i is not in scope here")
    refused(f, moves.reindex((), 1, (new(p, n),), (), (p, p), (i,)), "the nest has 1 loops, the map 2 expressions")
    refused(f, moves.reindex((), 2, (new(p, n),), (), (p,), (i,)), "something other than loops and guards")
    f = program("for i in range(B[0]):\n    B[i] = 0")
    i = variable(f, "i")
    within = (binary("lt", p, f.body.extent),)  # type: ignore[attr-defined]
    refused(f, moves.reindex((), 1, (new(p, 4),), within, (p,), (i,)), "the body writes what bounds or guards read")
    loops = (NewLoop(p, const(0), f.body.extent),)  # type: ignore[attr-defined]
    gives(f, moves.reindex((), 1, loops, (), (p,), (i,)), "for p in range(B[0]):\n    B[p] = 0")
