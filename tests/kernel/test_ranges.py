"""Ranges that may be negative, and iterations that come first: what only a second loop or a second axis shows."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernel.programs import AB, PROVER, accepted, program, refused, why
from verified_tir.elaborate.blocks import expand_blocks
from verified_tir.ir.script import parse_func
from verified_tir.kernel.entry import prove_program
from verified_tir.kernel.memory import Entry
from verified_tir.schedule import moves
from verified_tir.semantics.interpreter import refines, run

LOOPS = """
T.assume(n <= 4 and m <= 4)
{assumed}
for i in range(n):
    B[0] = i
for i in range(n, n + m):
    B[0] = i
"""


@pytest.mark.parametrize(
    ("assumed", "fine"), [("0 <= n and 0 <= m", True), ("0 <= m and -4 <= n", False), ("0 <= n and -4 <= m", False)]
)
def test_neither_of_two_joined_loops_may_have_a_negative_extent(assumed: str, *, fine: bool) -> None:
    """With n = -2 and m = 4 the second loop runs from -2 on, and the joined one would run from 0."""
    f = program(LOOPS.format(assumed=f"T.assume({assumed})"), AB + ", n: T.int32, m: T.int32")
    if fine:
        accepted(f, moves.join_index_sets((), 2))
    else:
        refused(f, moves.join_index_sets((), 2), "is run")


def test_a_reduction_over_two_axes_is_initialised_once() -> None:
    f = parse_func("""
@T.prim_func
def f(A: T.Buffer((2, 3, 4), "int32"), B: T.Buffer((2,), "int32")):
    for i, j, k in T.grid(2, 3, 4):
        with T.sblock("sum"):
            vi, vj, vk = T.axis.remap("SRR", [i, j, k])
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + A[vi, vj, vk]
""")
    a = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    before, after = (run(g, {"A": a, "B": np.full(2, 7, np.int32)}) for g in (f, expand_blocks(f)))
    assert before.arrays["B"].tolist() == a.sum(axis=(1, 2)).tolist()
    assert refines(before, after) == []


@pytest.mark.parametrize(
    ("params", "expression", "fine"),
    [
        ("A: T.Buffer((n, m), 'int8')", "n * m + 65535", True),  # as many elements as index arithmetic can count
        ("A: T.Buffer((n, m), 'int8')", "n * m + 65536", False),
        ("A: T.Buffer((n, m, 0), 'int8')", "n + 65535", True),  # each extent, where there is no element
        ("A: T.Buffer((n, m, 0), 'int8')", "m + 65536", False),
        ("A: T.Buffer((n, m, 0), 'int8')", "n * m", False),
        ("A: T.Buffer((n, m), 'int8')", "-2147483648 + m", True),
        ("A: T.Buffer((n, m), 'int8')", "-2147483647 - m - 2", False),
        ("A: T.Buffer((4,), 'int8')", "n + 1", False),  # of a number that counts nothing all is possible
        ("A: T.Buffer((4,), 'int8')", "n - 1", False),
    ],
)
def test_how_many_elements_an_array_has(params: str, expression: str, *, fine: bool) -> None:
    f = program(f"T.evaluate({expression})", f"{params}, n: T.int32, m: T.int32")
    found = prove_program(f, PROVER, Entry())
    assert isinstance(found, tuple) if fine else "no overflow" in why(found)  # type: ignore[arg-type]
