"""What a nest must be to be a reduction."""

from __future__ import annotations

import pytest

from tests.kernel.programs import licensed_for, program, refused, steps, variable
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.func import PrimFunc
from verified_tir.kernel.rules.reassociate import Reassociate

PARAMS = 'A: T.Buffer((10,), "int32"), B: T.Buffer((4,), "int32"), n: T.int32'
CALL = 'T.call_extern("int32", "g")'


def groups(func: PrimFunc, extent: int = 3) -> Reassociate:
    return Reassociate((), Buffer.declare("P", (extent,), "int32"), (variable(func, "k") % extent,))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("for k in range(B[2]):\n    B[2] = B[2] + A[k]", "is read in the nest other than by its own update"),
        ("for k in range(B[2], 9):\n    B[2] = B[2] + A[k]", "is read in the nest other than by its own update"),
        ("for k in range(9):\n    if B[2] > 0:\n        B[2] = B[2] + A[k]", "is read in the nest other than"),
        ("for k in range(9):\n    x: T.let[T.int32] = B[2]\n    B[2] = B[2] + x", "is read in the nest other than"),
        ("for k in range(9):\n    B[2] = B[2] + B[2]", "is read in the nest other than"),
        (f"for k in range({CALL}):\n    B[2] = B[2] + A[k]", "an opaque call stays in its place"),
        (f"for k in range(9):\n    if {CALL} > 0:\n        B[2] = B[2] + A[k]", "an opaque call stays in its place"),
        ("for k in range(9):\n    B[2] = A[k] + A[k]", "is no update B[x] = B[x] + e"),
        ("for k in range(9):\n    B[2] = A[k] - B[2]", "is not associative"),
        ("for k in range(9):\n    B[0:4] = B[0:4] + T.Broadcast(A[k], 4)", "is not updated one element at a time"),
    ],
)
def test_what_else_reads_the_result(text: str, reason: str) -> None:
    f = program(text, PARAMS)
    refused(f, groups(f), reason)


def test_elements_with_lanes() -> None:
    f = program("for k in range(9):\n    V[0] = V[0] + V[1]", 'V: T.Buffer((2,), "int32x4")')
    refused(f, groups(f), "V is not updated one element at a time")


def test_a_licence_that_is_not_needed_weakens_nothing() -> None:
    f = program("for k in range(9):\n    B[2] = B[2] + A[k]", PARAMS)
    rule = Reassociate((), Buffer.declare("P", (3,), "int32"), (variable(f, "k") % 3,))
    assert steps(licensed_for(f, "B"), rule).reassociated == frozenset()
