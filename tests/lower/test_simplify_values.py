"""Simplify uses known values of buffers (RFC 77: "padding values may be used in later simplifications")."""

from __future__ import annotations

import pytest

from tests.lower.lower_support import gives
from tests.lower.test_removals import program
from verified_tir.lower.simplify import Simplify

INTS = 'A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")'


@pytest.mark.parametrize(
    ("stores", "left"),
    [
        ("A[0] = 3\nB[0] = A[0] + 1", "A[0] = 3\nB[0] = 4"),
        ("A[0] = 3\nA[0] = A[0] + 1", "A[0] = 3\nA[0] = 4"),
        ("A[0] = 3\nA[1] = 4\nB[0] = A[0]", "A[0] = 3\nA[1] = 4\nB[0] = 3"),
        ("A[0] = 3\nif A[0] == 3:\n    B[0] = 1\nelse:\n    B[0] = 2", "A[0] = 3\nB[0] = 1"),
        ("for i in range(16):\n    A[i] = i * 2\nB[0] = A[7]", "for i in range(16):\n    A[i] = i * 2\nB[0] = 14"),
    ],
)
def test_what_was_stored(stores: str, left: str) -> None:
    gives(program(stores, INTS), Simplify(), left)


@pytest.mark.parametrize(
    "stores",
    [
        "A[0] = 3\nA[B[1]] = 4\nB[0] = A[0]",  # perhaps the same element
        "A[0] = 0\nfor i in range(16):\n    A[0] = A[0] + B[i]",  # stored again by the loop around the read
        "for i in range(8):\n    A[i] = 5\nB[0] = A[9]",
        "if B[0] == 1:\n    A[0] = 3\nB[1] = A[0]",
        "A[0] = B[1] * 2\nB[0] = A[0]",  # the read costs less than the value
    ],
)
def test_what_is_not_known_is_read(stores: str) -> None:
    left = stores.replace("B[1]", "T.max(T.min(B[1], 15), 0)", 1) if "A[B[1]]" in stores else stores
    gives(program(left, INTS), Simplify(), left)


PADDED = """
for i in range(16):
    T.assume(i < 14 or A[i] == 0)
for i in range(16):
    if i >= {first}:
        B[i] = {value}
"""


@pytest.mark.parametrize(("first", "value", "simple"), [(14, "A[i] + 7", "7"), (13, "A[i] + 7", "")])
def test_assumed_padding(first: int, value: str, simple: str) -> None:
    text = PADDED.format(first=first, value=value)
    gives(program(text, INTS), Simplify(), PADDED.format(first=first, value=simple or value))


def test_a_store_of_what_was_just_read_goes() -> None:
    gives(program("A[0] = A[0]\nA[1] = A[0]"), Simplify(), "A[1] = A[0]")
