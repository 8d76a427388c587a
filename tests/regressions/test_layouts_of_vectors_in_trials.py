"""Found by a campaign: runs that the validator's verdicts are held against took the lanes of an element for an index.

A parameter whose elements are vectors could then not be moved to another layout.

Finding: validator | crash | ValueError in schedule/correspondence.py:index_map
"""

from __future__ import annotations

import pytest

from tests.parts.second_opinions import assert_validator_agrees

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((3,), "float32x4"), B: T.Buffer((3,), "float32x4")):
    for i in range(3):
        B[i] = A[i] + T.Broadcast(T.float32(1.0), 4)
"""


@pytest.mark.parametrize(
    "step",
    [
        's.transform_layout("A", lambda i: [2 - i])',
        's.transform_layout("A", lambda i: [i // 2, i % 2])',
        's.transform_layout("B", lambda i: [i // 2, i % 2], T.undef())',
    ],
)
def test_lanes_stay_where_they_are(step: str) -> None:
    assert_validator_agrees(PROGRAM, [step], numbers=(0,), change=(0, 0))
