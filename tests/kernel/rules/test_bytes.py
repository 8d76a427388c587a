"""Bools, read and written as the bytes that they are kept in."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernel.programs import PROVER, accepted, body_of, buffer, program, refused, take, variable, why
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, Expr, Load, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Store
from verified_tir.ir.sugar import binary, const
from verified_tir.ir.visit import walk
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.merge_allocations import MergeAllocations
from verified_tir.kernel.rules.relayout import Relayout
from verified_tir.kernel.rules.scope import Declare, Drop
from verified_tir.kernel.theorem import Refines, apply, reflexive
from verified_tir.schedule.edits import redirected
from verified_tir.semantics.interpreter import run

LOCAL = """\
m = T.alloc_buffer((4,), "bool")
for i in range(4):
    m[i] = A[i] > 0
for i in range(4):
    if m[i] and m[3 - i]:
        B[i] = A[i]"""
IN_OUT = 'M: T.Buffer((4,), "bool"), N: T.Buffer((4,), "bool")'


def as_bytes(old: Buffer) -> Buffer:
    return Buffer.declare(f"{old.name}_bytes", old.shape, "int8", data=old.data)


def same_places(func: PrimFunc, old: Buffer) -> tuple[tuple[tuple[Expr, ...], tuple[Expr, ...]], ...]:
    found = dict.fromkeys(n.indices for n in walk(func) if isinstance(n, (Load, Store)) and n.buffer is old)
    return tuple((x, x) for x in found)


def of_parameter(func: PrimFunc, name: str) -> PrimFunc:
    old = buffer(func, name)
    new = as_bytes(old)
    return accepted(func, Declare((), new, True), redirected((0,), old, new, same_places(func, old)))


def test_a_local_buffer() -> None:
    f = program(LOCAL)
    m = buffer(f, "m")
    new = as_bytes(m)
    done = accepted(f, MergeAllocations((), (), new), redirected((0, 0), m, new, same_places(f, m)), Drop((0,)))
    assert (
        body_of(done)
        == """\
m_bytes = T.alloc_buffer((4,), "int8")
for i in range(4):
    m_bytes[i] = T.Cast("int8", A[i] > 0)
for i in range(4):
    if T.Cast("bool", m_bytes[i]) and T.Cast("bool", m_bytes[3 - i]):
        B[i] = A[i]"""
    )


def test_parameters() -> None:
    f = program("for i in range(4):\n    N[i] = not M[i]", IN_OUT)
    done = of_parameter(of_parameter(f, "M"), "N")
    values = np.array([True, False, True, True])
    outcome = run(done, {"M": values, "N": np.zeros(4, np.bool_)})
    np.testing.assert_array_equal(outcome.arrays["N"], ~values)
    assert outcome.arrays["N"].dtype == np.bool_


def test_lanes() -> None:
    f = program("N[0:4] = M[0:4]", IN_OUT)
    assert body_of(of_parameter(f, "M")).endswith('N[0:4] = T.Cast("boolx4", M_bytes[T.Ramp(0, 1, 4)])')
    assert body_of(of_parameter(f, "N")).endswith('N_bytes[0:4] = T.Cast("int8x4", M[T.Ramp(0, 1, 4)])')


def test_bytes_that_are_no_bools_need_not_be_told_apart() -> None:
    """Where a byte is 2 the bool is undefined, and ``bool(2)`` is as good as anything."""
    text = (
        'm = T.alloc_buffer((4,), "bool")\nv = T.decl_buffer((4,), "int8", data=m.data)\nv[0] = T.int8(2)\nN[0] = m[0]'
    )
    f = program(text, IN_OUT)
    m, v = buffer(f, "m"), buffer(f, "v")
    accepted(f, redirected((0, 0), m, v, same_places(f, m)))


def test_a_byte_is_not_made_of_a_bool() -> None:
    """A byte of 2 would come back as 1."""
    f = program("B[0] = A[0]", 'A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "int8")')
    bools = Buffer.declare("m", (4,), "bool", data=buffer(f, "A").data)
    declared = accepted(f, Declare((), bools, True))
    refused(declared, redirected((0,), buffer(f, "A"), bools, same_places(f, buffer(f, "A"))), "A holds int8, m bool")


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32"])
def test_other_types_are_no_bytes_of_a_bool(dtype: str) -> None:
    f = program("N[0] = M[0]", IN_OUT)
    other = Buffer.declare("v", (1,), dtype, data=buffer(f, "M").data)
    declared = accepted(f, Declare((), other, True))
    refused(
        declared, redirected((0,), buffer(f, "M"), other, same_places(f, buffer(f, "M"))), f"M holds bool, v {dtype}"
    )


def test_the_byte_is_the_one_of_that_bool() -> None:
    f = program("N[0] = M[1]", IN_OUT)
    m = buffer(f, "M")
    new = as_bytes(m)
    declared = accepted(f, Declare((), new, True))
    accepted(declared, redirected((0,), m, new, (((const(1),), (const(1),)),)))
    refused(declared, redirected((0,), m, new, (((const(1),), (const(0),)),)), "the load of M_bytes reads where")


def test_what_is_said_of_bools_stays_said_of_them() -> None:
    """Memory that is partly inaccessible is not looked at through a view of another type."""
    f = program("N[0] = M[0]", IN_OUT)
    x, y = Var.fresh("x"), Var.fresh("y")
    five = LayoutMap((x,), (x,), (y,), (y,), (const(5),), binary("ge", y, 4))
    for pad, fine in ((None, False), (FALSE, True)):
        theorem = apply(Relayout(f.buffers[0], five, pad), reflexive(f), PROVER)
        assert isinstance(theorem, Refines)
        m = theorem.after.buffers[0]
        new = as_bytes(m)
        declared = apply(Declare((), new, True), theorem, PROVER)
        assert isinstance(declared, Refines)
        found = take(redirected((0,), m, new, same_places(theorem.after, m)), declared)
        assert isinstance(found, Refines) if fine else "accessible" in why(found)  # type: ignore[arg-type]


def test_a_view_of_bools_holds_bools() -> None:
    f = program(
        "v = T.decl_buffer((2, 2), 'bool', data=A.data)\nfor i in range(4):\n    A[i] = not A[i]",
        'A: T.Buffer((4,), "bool")',
    )
    a, v, i = buffer(f, "A"), buffer(f, "v"), variable(f, "i")
    text = body_of(accepted(f, redirected((0,), a, v, [((i,), (i // 2, i % 2))])))
    assert text.endswith("v[i // 2, i % 2] = not v[i // 2, i % 2]")
