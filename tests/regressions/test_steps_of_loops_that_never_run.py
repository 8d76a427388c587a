"""Steps that tidy up what they made looked for it where it had stood, and crashed if all of it had gone: in loops that
never run, and under branches that are never taken.

A sweep over small programs with such loops and empty statements, and all steps, found them within minutes; the programs
of campaigns had hardly any.
"""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir import NotApplicable, Schedule
from verified_tir.testing import assert_refines

HEAD = '@T.prim_func\ndef f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"), C: T.Buffer((1,), "int32")):\n    '
ARGUMENTS = {"A": np.array([5, -3, 7, 2], "int32"), "B": np.array([1, 2, 3, 4], "int32"), "C": np.array([9], "int32")}


@pytest.mark.parametrize(
    ("body", "never"),
    [
        ("for k in range(0):\n        C[0] = C[0] + A[k]", "k"),
        ("for i, k in T.grid(0, 4):\n        B[i] = B[i] + A[k]", "i"),
        ("for i, k in T.grid(4, 0):\n        B[i] = B[i] + A[k]", "k"),
    ],
)
def test_nothing_is_split_in_groups(body: str, never: str) -> None:
    s = Schedule(HEAD + body)
    with pytest.raises(NotApplicable, match=f"the loop over {never} never runs, so there is nothing to be split"):
        s.rfactor("k")
    once = Schedule((HEAD + body).replace("0)", "1)").replace("(0, ", "(1, "))
    once.rfactor("k")
    assert_refines(once, ARGUMENTS, machine_code=False)


def test_a_consumer_that_never_runs_goes() -> None:
    s = Schedule(HEAD + "for i in range(0):\n        A[i] = A[i] + 1\n        A[i] = A[i] + 2")
    s.cache_write("A", "global")
    s.reverse_compute_at("A_global_back", "i")
    assert_refines(s, ARGUMENTS, machine_code=False)


def test_a_consumer_that_is_never_reached() -> None:
    s = Schedule(HEAD + "for i in range(4):\n        A[0] = 1\n    if 0 < 0:\n        for j in range(2):\n"
                 "            T.evaluate(0)\n        A[0] = 1\n        C[0] = C[0] + A[0]")  # fmt: skip
    s.reverse_compute_at("j", "i")
    assert_refines(s, ARGUMENTS, machine_code=False)
