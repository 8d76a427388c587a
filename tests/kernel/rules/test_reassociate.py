"""A reduction is split into partial ones."""

from __future__ import annotations

import pytest

from tests.kernel.programs import PROVER, accepted, body_of, program, refused, variable, why
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Load
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.visit import walk
from verified_tir.kernel.rules.reassociate import Reassociate
from verified_tir.kernel.theorem import Refines, apply, reflexive

AB = 'A: T.Buffer((10,), "{0}"), B: T.Buffer((4,), "{0}"), n: T.int32'
SUM = "for k in range(10):\n    if A[k] > 0:\n        B[2] = B[2] {} A[k]"


def summed(op: str = "+", dtype: str = "int32") -> PrimFunc:
    zero = "0" if "int" in dtype else "0.0"
    text = SUM.format(op).replace("> 0", f"> {zero}")
    return program(text, AB.format(dtype))


def partial(dtype: str = "int32", extent: int = 3) -> Buffer:
    return Buffer.declare("P", (extent,), dtype)


def test_an_integer_sum() -> None:
    f = summed()
    k = variable(f, "k")
    done = apply(Reassociate((), partial(), (k % 3,)), reflexive(f), PROVER)
    assert isinstance(done, Refines)
    assert done.reassociated == frozenset()
    assert body_of(done.after) == (
        'P = T.alloc_buffer((3,), "int32")\nfor j0 in range(3):\n    P[j0] = 0\n'
        "for k in range(10):\n    if A[k] > 0:\n        P[k % 3] = P[k % 3] + A[k]\n"
        "for j0 in range(3):\n    B[2] = B[2] + P[j0]"
    )
    refused(f, Reassociate((), partial(), (k % 4,)), "every term goes to one of the partial results of P (Refuted)")
    refused(f, Reassociate((), partial(), (k - 1,)), "every term goes to one")
    refused(f, Reassociate((), partial(), (10 // (k - 3),)), "(Refuted)")


def test_floats_need_a_licence() -> None:
    f = summed("+", "float32")
    k = variable(f, "k")
    refused(f, Reassociate((), partial("float32"), (k % 3,)), "the sum of float32 into B has the same bits in any order (Refuted)")
    done = apply(Reassociate((), partial("float32"), (k % 3,), "sum"), reflexive(f), PROVER)
    assert isinstance(done, Refines), why(done)
    assert done.reassociated == frozenset({"sum"})
    assert "P[j0] = T.float32(-0.0)" in body_of(done.after)


@pytest.mark.parametrize(
    ("value", "dtype", "identity"),
    [
        ("B[2] * A[k]", "uint8", "T.uint8(1)"),
        ("T.max(B[2], A[k])", "int8", "T.int8(-128)"),
        ("T.min(A[k], B[2])", "int16", "T.int16(32767)"),
        ("B[2] & A[k]", "uint8", "T.uint8(255)"),
        ("B[2] ^ A[k]", "int32", "0"),
        ("B[2] - A[k]", "int32", None),
        ("A[k] // B[2]", "int32", None),
        ("T.max(B[2], A[k])", "float32", None),
        ("B[2] + A[k] + A[0]", "int32", None),
        ("B[1] + A[k]", "int32", None),
        ("B[2] + B[2]", "int32", None),
    ],
)
def test_operations(value: str, dtype: str, identity: str | None) -> None:
    f = program(f"for k in range(10):\n    B[2] = {value}", AB.format(dtype))
    rule = Reassociate((), partial(dtype), (variable(f, "k") % 3,), "sum")
    if identity is None:
        refused(f, rule, "")
    else:
        assert f"P[j0] = {identity}\n" in body_of(accepted(f, rule))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("for k in range(4):\n    B[k] = B[k] + A[k]", "changes in the nest"),
        ("for k in range(4):\n    if B[0] > 3:\n        B[2] = B[2] + A[k]", "is read in the nest other than"),
        ("for k in range(4):\n    B[2] = B[2] + A[B[2]]", "is read in the nest other than"),
        ("for k in range(4):\n    B[2] = B[2] + A[k]\n    B[1] = 0", "no nest of loops around one store"),
        ("B[2] = B[2] + A[3]", "no nest of loops around one store"),
        ("for k in range(n):\n    B[n] = B[n] + 1", "in bounds (Refuted)"),
        ('for k in range(4):\n    B[2] = B[2] + T.call_extern("int32", "next")', "opaque call"),
    ],
)
def test_what_is_no_reduction(text: str, reason: str) -> None:
    f = program(text, AB.format("int32"))
    if "n" in text.split(":", maxsplit=1)[0]:
        text = text.replace("range(n)", "range(T.max(0, T.min(n, 3) - T.max(n, 3)))")
        f = program(text, AB.format("int32"))  # B[n] is touched where the loop makes no iteration
    ks = [n for n in walk(f) if getattr(n, "name", None) == "k"]
    rule = Reassociate((), partial(), ((ks[0] % 3) if ks else variable(f, "n"),))  # type: ignore[operator]
    refused(f, rule, reason)


def test_aliases_count() -> None:
    text = 'V = T.decl_buffer((4,), "int32", data=B.data)\nfor k in range(4):\n    B[2] = B[2] + V[k]'
    f = program(text, AB.format("int32"))
    refused(f, Reassociate((0,), partial(), (variable(f, "k") % 3,)), "is read in the nest other than")


def test_nests() -> None:
    f = program(
        "for i in range(4):\n    for k, l in T.grid(3, 2):\n        B[i] = B[i] + A[k * 2 + l]", AB.format("int32")
    )
    k, l = variable(f, "k"), variable(f, "l")
    accepted(f, Reassociate((0,), Buffer.declare("P", (3, 2), "int32"), (k, l)))
    accepted(f, Reassociate((0, 0), Buffer.declare("P", (2,), "int32"), (l,)))
    refused(f, Reassociate((), Buffer.declare("P", (2,), "int32"), (l,)), "changes in the nest")
    refused(f, Reassociate((0,), Buffer.declare("P", (2,), "int64"), (l,)), "must have the type of B")
    reads = tuple(n for n in walk(f) if isinstance(n, Load) and n.buffer.name == "A")
    refused(f, Reassociate((0,), Buffer.declare("P", (2,), "int32"), reads), "A[k * 2 + l] is defined (Refuted)")
