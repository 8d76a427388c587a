"""Bool buffers are kept as bytes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernel.programs import accepted, buffer, gives, program, refused
from verified_tir.kernel.rules.retype import BoolBytes
from verified_tir.semantics.interpreter import run

LOCAL = """\
m = T.alloc_buffer((4,), "bool")
for i in range(4):
    m[i] = A[i] > 0
for i in range(4):
    if m[i] and m[3 - i]:
        B[i] = A[i]"""
IN_OUT = 'M: T.Buffer((4,), "bool"), N: T.Buffer((4,), "bool")'


def test_a_local_buffer() -> None:
    gives(
        program(LOCAL),
        BoolBytes(()),
        """\
m_bytes = T.alloc_buffer((4,), "int8")
for i in range(4):
    m_bytes[i] = T.Cast("int8", A[i] > 0)
for i in range(4):
    if T.Cast("bool", m_bytes[i]) and T.Cast("bool", m_bytes[3 - i]):
        B[i] = A[i]""",
    )


def test_parameters() -> None:
    f = program("for i in range(4):\n    N[i] = not M[i]", IN_OUT)
    (m, _), (n, _) = f.buffer_map
    done = accepted(f, BoolBytes((), m), BoolBytes((), n))
    values = np.array([True, False, True, True])
    outcome = run(done, {"M": values, "N": np.zeros(4, np.bool_)})
    np.testing.assert_array_equal(outcome.arrays["N"], ~values)
    assert outcome.arrays["N"].dtype == np.bool_


def test_lanes() -> None:
    f = program('m = T.alloc_buffer((4,), "bool")\nm[0:4] = A[0:4] > T.Broadcast(0, 4)\nif m[2]:\n    B[0] = 1')
    accepted(f, BoolBytes(()))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('m = T.alloc_buffer((4,), "int8")\nm[0] = T.int8(1)', "holds int8, not bool"),
        ('m = T.alloc_buffer((4,), "bool")\nv = T.decl_buffer((4,), "int8", data=m.data)\nv[0] = T.int8(2)\n'
         "if m[0]:\n    B[0] = 1", "has other views"),
        ("A[0] = 1", "no buffer is allocated here"),
        ('m = T.alloc_buffer((4,), "bool")\nT.evaluate(T.call_extern("int32", "f", m.data))', "other than by loads"),
    ],
)  # fmt: skip
def test_what_is_refused(text: str, why: str) -> None:
    refused(program(text), BoolBytes(()), why)


def test_only_buffers_are_kept_as_bytes() -> None:
    f = program("N[0] = M[0]", IN_OUT + ", n: T.int32")
    refused(f, BoolBytes((), f.params[-1]), "no buffer parameter")
    assert buffer(f, "M").dtype.is_bool
