"""Facts about an element may rest on facts about itself; nobody asks for ever."""

from __future__ import annotations

from verified_tir import parse_func
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.obligation import Unproved
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.theorem import apply, reflexive
from verified_tir.logic.solver import Solver

INDIRECT = """
@T.prim_func
def f(X: T.Buffer((6,), "int32"), Y: T.Buffer((2, 3), "int32"), Z: T.Buffer((5,), "float32"), n: T.int32):
    if 1 >= n:
        for j in range(n, n + 3):
            X[X[1] % 6] = j - n
        with T.alloc_buffer((3,), "int32") as t:
            X[X[1] % 6] = 3
        if n == 1:
            X[(2 + 2 * n) % 6] = X[5]
        else:
            Y[1, n] = T.undef(dtype="int32")
        X[X[0] % 6] = n
        for j in range(n, n + n):
            T.assume(Y[X[0] % 2, 2 * n] * X[5 + n + (0 - j)] >= n)
        X[X[0] % 6] = n
        Z[0] = T.max(Z[(4 + n) % 5], T.float32(0.0))
"""
"""That a loop keeps what was known of ``X`` is asked with what is known of the elements that its indices load."""


def test_facts_about_indices_that_are_loaded_come_to_an_end() -> None:
    refused = apply(Erase((0, 5), 0), reflexive(parse_func(INDIRECT)), Prover(Solver()))
    assert isinstance(refused, Unproved)
