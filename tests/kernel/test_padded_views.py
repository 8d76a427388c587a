"""Views over parameters with padding that may not be touched: an element is known by its flat address."""

from __future__ import annotations

import pytest

from tests.kernel.programs import PROVER, take, why
from verified_tir import Refines, Schedule
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, Load
from verified_tir.ir.stmt import Store
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import walk
from verified_tir.kernel.obligation import NoMatch, Unproved
from verified_tir.kernel.rules.scope import Declare
from verified_tir.kernel.theorem import apply
from verified_tir.schedule.edits import redirected

COPY = """
@T.prim_func
def f(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
    for i in range(14):
        B[i] = A[i]
"""


def through_a_flat_view(s: Schedule, extent: Expr | int, shift: int = 0) -> str:
    """What the kernel says when A is read by flat address (plus ``shift``)."""
    a = s.buffer("A")
    flat = Buffer.declare("A_flat", (extent,), "float32", data=a.data)
    theorem = apply(Declare((), flat, True), s.theorem, PROVER)
    assert isinstance(theorem, Refines)
    moves = []
    for n in walk(theorem.after):
        if isinstance(n, (Load, Store)) and n.buffer is a:
            at: Expr = const(0)
            for index, e in zip(n.indices, a.shape, strict=True):
                at = at * e + index
            moves.append((n.indices, (at + shift,)))
    result = take(redirected((0,), a, flat, tuple(moves)), theorem)
    if isinstance(result, Refines):
        return ""
    assert isinstance(result, (NoMatch, Unproved))
    return why(result)


def test_no_padding_at_all() -> None:
    s = Schedule(COPY.replace("14", "16"))
    s.transform_layout("A", lambda i: [i // 4, i % 4])
    assert through_a_flat_view(s, 16) == ""


@pytest.mark.parametrize("index_map", [lambda i: [i // 4, i % 4], lambda i: [i + 3], lambda i: [i % 4, i // 4]])
def test_padding_around(index_map: object) -> None:
    s = Schedule(COPY)
    s.transform_layout("A", index_map)  # type: ignore[arg-type]
    assert through_a_flat_view(s, 17) == ""


def test_touching_it_is_refused() -> None:
    s = Schedule(COPY)
    s.transform_layout("A", lambda i: [i + 3])
    assert "accessible" in through_a_flat_view(s, 17, shift=-1)


SYMBOLIC = """
@T.prim_func
def f(A: T.Buffer(("n",), "float32"), B: T.Buffer((n,), "float32"), n: T.int32):
    for i in range(n):
        B[i] = A[i]
"""


def test_a_symbolic_extent() -> None:
    s = Schedule(SYMBOLIC)
    s.transform_layout("A", lambda i: [i // 4, i % 4])
    assert through_a_flat_view(s, s.buffer("A").shape[0] * 4) == ""
    s = Schedule(SYMBOLIC)
    s.transform_layout("A", lambda i: [i % 4, i // 4])  # an inner extent is symbolic
    assert "accessible" in through_a_flat_view(s, s.buffer("A").shape[1] * 4)
