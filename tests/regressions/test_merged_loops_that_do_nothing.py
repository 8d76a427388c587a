"""merge_adjacent_loops looked for the loops inside where a body was empty, and crashed (found by ``vtir fuzz``)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from verified_tir import Schedule
from verified_tir.testing import assert_refines

BODIES = {
    "nothing": "pass",
    "a store": "A[{v}] = 1",
    "two stores": "A[{v}] = 1\n            B[{v}] = 2",
    "a loop": "for {v}{v} in range(4):\n                A[{v}] = A[{v}] + 1",
    "a label around nothing": 'with T.sblock("in_{v}"):\n                pass',
}
PROGRAM = """
@T.prim_func
def f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    with T.sblock("one"):
        for i in range(4):
            {0}
    with T.sblock("two"):
        for j in range(4):
            {1}
"""


@pytest.mark.sample(24)
@pytest.mark.parametrize(("first", "second"), [*itertools.product(BODIES, BODIES)])
def test_bodies_of_all_lengths_are_merged(first: str, second: str) -> None:
    s = Schedule(PROGRAM.format(BODIES[first].format(v="i"), BODIES[second].format(v="j")))
    s.merge_adjacent_loops()
    assert s.loops()[0].name == "i" and "for j in" not in s.script()
    assert [f'"{name}"' in s.script() for name in ("one", "two")] == [body != "nothing" for body in (first, second)]
    assert_refines(s, {name: np.array([7, 8, 9, 10], "int32") for name in "AB"}, machine_code=False)
