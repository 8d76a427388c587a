"""What is known of the loads in loop bounds and conditions around a place, and what is not known any more."""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir import Refuted, Schedule
from verified_tir.semantics.interpreter import UndefinedBehaviour, run

CSR = """
@T.prim_func
def spmv(indptr: T.Buffer((5,), "int32"), x: T.Buffer((9,), "float32"), y: T.Buffer((4,), "float32")):
    for i in range(4):
        T.assume({assumed})
    for i in range(4):
        {before}
        for k in range(indptr[i], indptr[i + {next}]):
            {inside}
            y[i] = y[i] + x[k]
"""
ALL = "0 <= indptr[i] and indptr[i] <= indptr[i + 1] and indptr[i + 1] <= 9"


def program(assumed: str = ALL, before: str = "y[i] = 0.0", inside: str = "pass", following: int = 1) -> str:
    return CSR.format(assumed=assumed, before=before, inside=inside, next=following)


ACCEPTED = {
    "rows of a sparse matrix": program(),
    "without the order, which is not needed": program("0 <= indptr[i] and -9 <= indptr[i + 1] and indptr[i + 1] <= 9"),
    "a row and the next": program(following=1, before="y[3 - i] = 0.0"),
    "a bound that is written in the loop was read before": program(inside="indptr[i] = -7", before="pass").replace(
        "in range(4):\n        pass", "in range(1):\n        pass"
    ),
    "a bound in a condition": program(inside="# x")
    .replace("range(indptr[i], indptr[i + 1])", "range(100)")
    .replace("# x\n            y", "if indptr[i] <= k and k < indptr[i + 1]:\n                y"),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_bounds_that_are_known(name: str) -> None:
    Schedule(ACCEPTED[name])
    arrays = {"indptr": np.array([0, 2, 2, 7, 9], np.int32), "x": np.ones(9, np.float32), "y": np.ones(4, np.float32)}
    run(Schedule(ACCEPTED[name]).func, arrays)


REFUSED = {
    "no lower bound": program("-9 <= indptr[i] and indptr[i] <= indptr[i + 1] and indptr[i + 1] <= 9"),
    "no upper bound": program("0 <= indptr[i] and indptr[i] <= indptr[i + 1]"),
    "one too many": program(ALL.replace("<= 9", "<= 10")),
    "written before the loop": program(before="indptr[i] = -1"),
    "written before the loop, elsewhere perhaps": program(before="indptr[T.max(T.min(indptr[0], 4), 0)] = 20"),
    "written in the loop, and read by the next row": program(inside="indptr[i + 1] = -1"),
    "assumed of another element": program("0 <= indptr[i] and indptr[i] <= 9").replace(
        "y[i] = 0.0", "T.assume(-9 <= indptr[i + 1])"
    ),
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", REFUSED)
def test_bounds_that_are_not_known(name: str) -> None:
    with pytest.raises(Refuted, match=r"x\[k\] lies within the bounds"):
        Schedule(REFUSED[name])


def test_the_refused_ones_leave_their_bounds() -> None:
    """Arguments that fulfil the assumption, and leave ``x`` all the same."""
    from verified_tir import parse_func

    arrays = {"x": np.ones(9, np.float32), "y": np.ones(4, np.float32)}
    for name, indptr in [
        ("no lower bound", [-1, 2, 2, 7, 9]),
        ("no upper bound", [0, 2, 2, 7, 10]),
        ("one too many", [0, 2, 2, 7, 10]),
        ("written before the loop", [0, 2, 2, 7, 9]),
        ("written before the loop, elsewhere perhaps", [3, 2, 2, 7, 9]),
        ("written in the loop, and read by the next row", [0, 2, 2, 7, 9]),
        ("assumed of another element", [0, 2, 2, 7, 10]),
    ]:
        with pytest.raises(UndefinedBehaviour):
            run(parse_func(REFUSED[name]), {**arrays, "indptr": np.array(indptr, np.int32)})
