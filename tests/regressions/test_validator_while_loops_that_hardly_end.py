"""Found by a campaign: a ``while`` that ends after 2**31 iterations was followed for half an hour.

Each iteration runs alone, and takes as long as thousands of operations on the elements of a loop that runs as a whole;
it was counted as a few.

Finding: validator | hang | validate/validator.py:validate
"""

from __future__ import annotations

import pytest

from verified_tir import parse_func
from verified_tir.validate import Unknown, execute, validate

FIRST = """
@T.prim_func
def main(A: T.Buffer((4, 8), "float32")):
    t = T.alloc_buffer((1,), "int32", scope="local")
    for i in T.parallel(1):
        for j in range(4):
            t[0] = 0
            while t[0] < 3:
                A[i, j] = T.float32(0.0)
                for k in range(8):
                    A[i, j] = A[i, j] + A[i + 3, k]
                t[0] = t[0] + 1
"""


INNER = """
@T.prim_func
def main(A: T.Buffer((7, 7), "uint16")):
    t = T.alloc_buffer((1,), "int32")
    t[0] = 0
    while t[0] < 1:
        for i, j, k in T.grid(3, 7, 2):
            A[i, j] = A[i, j] * A[6 - j, k + 3]
        t[0] = t[0] + 1
"""
"""The inner loops run one iteration at a time, too: seed 20261219, round 47, case 19."""


@pytest.mark.parametrize("first", [FIRST, INNER])
def test_validator_while_loops_that_hardly_end(first: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stores = 0
    store = execute.Executor._store

    def counted(*arguments: object) -> None:
        nonlocal stores
        stores += 1
        store(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(execute.Executor, "_store", counted)
    second = first.replace("t[0] + 1", "t[0] - 1")
    verdict = validate(parse_func(first), parse_func(second), most_operations=200_000).verdict
    assert isinstance(verdict, Unknown) and "too large" in str(verdict)
    assert stores < 1000
