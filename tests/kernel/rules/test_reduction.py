"""What a nest must be to be a reduction."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.kernel.programs import accepted, licensed_for, program, refused, steps, variable
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.func import PrimFunc
from verified_tir.kernel.rules.reassociate import Reassociate
from verified_tir.kernel.theorem import reflexive
from verified_tir.semantics.interpreter import run

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
        (f"for k in range({CALL}):\n    B[2] = B[2] + A[k]", "the result of the opaque call call_extern is unknown"),
        (f"for k in range(9):\n    if {CALL} > 0:\n        B[2] = B[2] + A[k]", "or by an opaque call"),
        ("for k in range(9):\n    while n > 0:\n        B[2] = B[2] + A[k]", "not a nest of loops around one store"),
        (
            "for k in range(9):\n    t = T.alloc_buffer((1,), 'int32')\n    B[2] = B[2] + A[k]",
            "not a nest of loops around",
        ),
        (
            "for k in range(9):\n    if n > 0:\n        B[2] = B[2] + A[k]\n    else:\n        B[1] = 7",
            "not a nest of loops around one store",
        ),
        ("for k in range(9):\n    B[2] = A[k] + A[k]", "is not an update B[x] = B[x] + e"),
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


INTEGERS = ["B[2] + A[k]", "B[2] * A[k]", "T.min(B[2], A[k])", "T.max(B[2], A[k])"]
BITS = ["B[2] & A[k]", "B[2] | A[k]", "B[2] ^ A[k]"]
VALUES = {
    "int8": [-128, -2, -1, 0, 1, 127],
    "uint8": [0, 1, 2, 254, 255],
    "bool": [False, True],
    "float32": [-0.0, 0.0, 1.5, -np.inf, np.inf, np.nan],
}
UPDATES = [(v, t) for t in ("int8", "uint8") for v in INTEGERS + BITS]
UPDATES += [(v, "bool") for v in [*BITS, "B[2] and A[k]", "B[2] or A[k]"]] + [(v, "float32") for v in INTEGERS]


@pytest.mark.parametrize(("value", "dtype"), UPDATES)
def test_groups_of_no_terms_change_nothing(value: str, dtype: str) -> None:
    """Of three groups one has the only term, or none has; where there is none, the result is what it was."""
    number = dtype == "float32" and value.startswith("T.m")
    known = "T.assume(C[0] == C[0] and A[0] == A[0])" if number else "T.evaluate(0)"
    text = f"{known}\nB[2] = C[0]\nfor k in range(1):\n    if n > 0:\n        B[2] = {value}"
    sizes = (("A", 1), ("B", 4), ("C", 1))
    f = program(text, ", ".join(f'{name}: T.Buffer(({size},), "{dtype}")' for name, size in sizes) + ", n: T.int32")
    start = reflexive(f, definite=True)
    new = accepted(
        licensed_for(start, "B") if dtype == "float32" else start,
        Reassociate((2,), Buffer.declare("P", (3,), dtype), (variable(f, "k"),)),
    )
    for n, a, b in product((0, 1), VALUES[dtype], VALUES[dtype]):
        if not (number and np.isnan([a, b]).any()):
            arrays = {"A": np.array([a], dtype), "B": np.zeros(4, dtype), "C": np.array([b], dtype), "n": n}
            old, now = (run(g, arrays).arrays["B"][2] for g in (f, new))
            assert repr(now) == repr(old) or (number and now == old == 0), (n, a, b)
