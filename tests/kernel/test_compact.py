"""Compaction: a local buffer shrunk to what is touched, through a map that may mention outer variables."""

from __future__ import annotations

import numpy as np

from tests.kernel.programs import compact as rule_of
from verified_tir.ir.expr import Expr, Var
from verified_tir.ir.paths import places
from verified_tir.ir.script import parse_func, script
from verified_tir.ir.stmt import Allocate, For
from verified_tir.ir.sugar import const
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.obligation import NoMatch, Unproved
from verified_tir.kernel.theorem import Refines, apply, reflexive
from verified_tir.logic.solver import Solver
from verified_tir.semantics.interpreter import refines, run

TILES = """
@T.prim_func
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(4):
        t = T.alloc_buffer((16,), "float32")
        for j in range(4):
            t[4 * i + j] = A[4 * i + j]
        for j in range(4):
            B[4 * i + j] = t[{read}]
"""


def compact(read: str, image: str, extent: int) -> object:
    func = parse_func(TILES.format(read=read))
    path, _ = next(iter(places(func.body, lambda s: isinstance(s, Allocate))))
    loop = next(s for _, s in places(func.body, lambda s: isinstance(s, For)))
    assert isinstance(loop, For)
    x, i = Var.fresh("x"), loop.var
    outputs: dict[str, Expr] = {"x - 4 * i": x - i * 4, "x % 4": x % 4, "x // 4": x // 4, "x": x}
    rule = rule_of(path, (x,), (outputs[image],), (const(extent),), lambda y: (y + i * 4,))
    result = apply(rule, reflexive(func), Prover(Solver()))
    if isinstance(result, Refines):
        arrays = {"A": np.arange(16, dtype=np.float32), "B": np.zeros(16, np.float32)}
        assert not refines(run(func, arrays), run(result.after, arrays))
    return result


def test_a_tile_needs_only_its_own_elements() -> None:
    result = compact("4 * i + 3 - j", "x - 4 * i", 4)
    assert isinstance(result, Refines)
    assert "alloc_buffer((4,)" in script(result.after)
    assert isinstance(compact("4 * i + j", "x % 4", 4), Refines)


def test_too_small_is_refused() -> None:
    result = compact("4 * i + j", "x - 4 * i", 3)
    assert isinstance(result, Unproved)
    assert "lies within the new shape" in result.obligation.claim


def test_two_elements_in_one_place_are_refused() -> None:
    result = compact("4 * i + j", "x // 4", 4)
    assert isinstance(result, Unproved)
    assert "mapped to the same place" in result.obligation.claim


def test_a_wrong_rank_does_not_match() -> None:
    func = parse_func(TILES.format(read="4 * i + j"))
    path, _ = next(iter(places(func.body, lambda s: isinstance(s, Allocate))))
    x, y = Var.fresh("x"), Var.fresh("y")
    result = apply(rule_of(path, (x, y), (x,), (const(4),)), reflexive(func), Prover(Solver()))
    assert isinstance(result, NoMatch)
