"""Vector stores, bytes and chains, where they are tight."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.kernel.programs import AB, accepted, buffer, program, refused, variable
from verified_tir.ir.dtype import INT32
from verified_tir.ir.expr import Binary, Broadcast, Call, Expr, LetExpr, Load, Ramp, Var
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.rules.vectorize import Vectorize

ABN = AB + ", n: T.int32"
RAMP = Ramp(const(0), const(1), 4)
ONES = Broadcast(const(1), 4)
G = 'T.call_extern("int32", "g")'


def mask(n: int) -> Expr:
    return binary("lt", RAMP, Broadcast(const(n), 4))


# -- lanes -------------------------------------------------------------------------------------------------------------


def test_a_condition_needs_a_mask() -> None:
    f = program("for i in range(4):\n    if i < n:\n        A[i] = 1", ABN)
    refused(f, Vectorize((), (RAMP,), ONES), "is masked exactly where an iteration")
    accepted(f, Vectorize((), (RAMP,), ONES, binary("lt", RAMP, Broadcast(variable(f, "n"), 4))))


def test_a_condition_on_the_iteration_keeps_the_order() -> None:
    f = program("for i in range(1, 5):\n    if i < 9:\n        A[i] = A[i - 1]", AB.replace("(4,)", "(8,)", 1))
    a, after = buffer(f, "A"), Ramp(const(1), const(1), 4)
    rule = Vectorize((), (after,), Load(a, (RAMP,)), binary("lt", after, Broadcast(const(9), 4)))
    why = "reads what an earlier one wrote: no dependence between the write and the read of A (Refuted)"
    refused(f, rule, why)


def test_a_value_is_safe_under_all_conditions_only() -> None:
    """Where n is 0 nothing is divided, though i < 4 always."""
    f = program("for i in range(4):\n    if n > 0:\n        if i < 4:\n            A[i] = 8 // n", ABN)
    n = variable(f, "n")
    both = binary("and", Broadcast(n > 0, 4), mask(4))
    refused(f, Vectorize((), (RAMP,), Broadcast(8 // n, 4), both), "safety: 8 // n: no division by zero (Refuted)")
    guarded = Broadcast(8 // binary("max", n, 1), 4)
    accepted(f, Vectorize((), (RAMP,), guarded, both))


@pytest.mark.parametrize("old", [f"if {G} > 0:\n        A[i] = 1", f"A[{G}] = 1", f"A[i] = {G}"])
def test_an_opaque_call_of_the_loop_stays(old: str) -> None:
    f = program(f"for i in range(4):\n    {old}")
    found = refused(f, Vectorize((), (RAMP,), ONES, mask(4)), "")
    assert found.reason == "an opaque call stays in its place"  # type: ignore[union-attr]


def test_no_opaque_call_appears() -> None:
    f = program("for i in range(4):\n    A[i] = 1")
    call = Broadcast(Call(INT32, "g", ()), 4)
    plain = Vectorize((), (RAMP,), ONES)
    masked = replace(plain, predicate=mask(4))
    accepted(f, plain)
    accepted(f, masked)
    for rule in (replace(plain, value=call), replace(plain, indices=(call,)), replace(masked, value=call),
                 replace(masked, indices=(call,)), replace(plain, predicate=binary("lt", call, ONES))):  # fmt: skip
        assert refused(f, rule, "").reason == "an opaque call stays in its place"  # type: ignore[union-attr]


def test_what_appears_is_in_scope_and_binds_its_own_variables() -> None:
    f = program("for i in range(4):\n    A[i] = n\nfor j in range(4):\n    B[j] = n", ABN)
    v, n, i = Var.fresh("v"), variable(f, "n"), variable(f, "i")
    one, other = (LetExpr(v, n, Broadcast(Binary(op, v, v), 4)) for op in ("max", "min"))
    accepted(f, Vectorize((0,), (RAMP,), one), Vectorize((1,), (RAMP,), other))
    found = refused(f, Vectorize((0,), (RAMP,), Broadcast(n + i - i, 4)), "")
    assert found.reason == "there is no theorem about the result: variable i is not in scope here"  # type: ignore[union-attr]
