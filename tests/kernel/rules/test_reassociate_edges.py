"""Reductions in groups, where it is tight: which operand is the identity, and what running the update says."""

from __future__ import annotations

import pytest

from tests.kernel.programs import accepted, body_of, buffer, licensed_for, program, refused, variable
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import INT32
from verified_tir.ir.expr import Call, Var
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.rules.reassociate import Reassociate

AB = 'A: T.Buffer((10,), "{0}"), B: T.Buffer((4,), "{0}"), n: T.int32'


def partial(dtype: str = "int32", *shape: int) -> Buffer:
    return Buffer.declare("P", shape or (3,), dtype)


@pytest.mark.parametrize(
    ("value", "dtype", "last"),
    [
        ("B[2] + A[k]", "int32", "B[2] + P[j0]"),
        ("T.max(B[2], A[k])", "int32", "T.max(B[2], P[j0])"),
        ("B[2] + A[k]", "float32", "B[2] + P[j0]"),
        ("B[2] * A[k]", "float32", "B[2] * P[j0]"),
        ("B[2] and A[k]", "bool", "P[j0] and B[2]"),
    ],
)
def test_the_identity_stands_where_it_changes_nothing(value: str, dtype: str, last: str) -> None:
    """min(inf, x) is x, and min(x, inf) is inf where x is NaN; x and true is not evaluated where x is false."""
    known = "for k in range(10):\n    A[k] = T.bool(True)\n" if dtype == "bool" else ""
    f = program(f"{known}for k in range(10):\n    B[2] = {value}", AB.format(dtype))
    path = (1,) if known else ()
    k = f.body.stmts[1].var if known else f.body.var  # type: ignore[attr-defined]
    start = licensed_for(f, "B") if dtype == "float32" else f
    done = body_of(accepted(start, Reassociate(path, partial(dtype), (k % 3,))))
    assert done.endswith(f"for j0 in range(3):\n    B[2] = {last}")


@pytest.mark.parametrize("op", ["min", "max"])
def test_the_least_of_floats_takes_the_identity_first(op: str) -> None:
    term = "T.Cast('float32', T.Cast('int8', A[k] > T.float32(0)))"
    text = f"B[2] = T.float32(1)\nfor k in range(10):\n    B[2] = T.{{}}(B[2], {term})"
    f = program(text.format(op), AB.format("float32"))
    done = body_of(accepted(licensed_for(f, "B"), Reassociate((1,), partial("float32"), (variable(f, "k") % 3,))))
    assert done.endswith(f"for j0 in range(3):\n    B[2] = T.{op}(P[j0], B[2])")


def test_an_index_is_safe_only_under_what_it_is_evaluated_under() -> None:
    """The update runs where n == 0, too; 4 // n is evaluated where it does not."""
    text = "for k in range(10):\n    B[T.if_then_else(n > 0, T.min(4 // n, 3), 0)] = {0} + A[k]"
    f = program(text.format("B[T.if_then_else(n > 0, T.min(4 // n, 3), 0)]"), AB.format("int32"))
    k, n = variable(f, "k"), variable(f, "n")
    accepted(f, Reassociate((), partial(), (k % 3,)))
    zero = binary("floordiv", const(4), n) * 0
    refused(f, Reassociate((), partial(), (k % 3 + zero,)), "safety: 4 // n: no division by zero (Refuted)")


def test_a_partial_result_is_of_the_element_that_the_term_is_of() -> None:
    """Whatever the indices of partial results are called: k // 2 is not k."""
    f = program("for k in range(4):\n    B[k] = B[k] + A[k]", AB.format("int32"))
    k = variable(f, "k")
    belongs = "a term's partial result in P belongs to the term's element of B (Refuted)"
    for name in (k, buffer(f, "B").data.fresh("j")):
        accepted(f, Reassociate((), partial("int32", 4), (k,), (name,), (name,)))
        refused(f, Reassociate((), partial("int32", 2), (k // 2,), (name,), (name,)), belongs)


def test_what_does_not_fit() -> None:
    f = program("for k in range(10):\n    B[2] = B[2] + A[k]", AB.format("int32"))
    k = variable(f, "k")
    call = Call(INT32, "elsewhere", ())
    rules = {
        "P has 1 dimensions and is accessed with 2 indices": [Reassociate((), partial(), (k % 3, k))],
        "P has 1 dimensions and is accessed with 0 indices": [Reassociate((), partial(), ())],
        "P has 1 dimensions": [Reassociate((), partial(), (k % 3,), (k, k), (k,))],
        "the result of the opaque call elsewhere is unknown": [
            Reassociate((), partial(), (call,)),
            Reassociate((), partial(), (k % 3,), (k,), (call,)),
        ],
    }
    for reason, wrong in rules.items():
        for rule in wrong:
            assert refused(f, rule, "").reason == reason  # type: ignore[union-attr]


def test_an_opaque_call_is_no_index_of_a_reduction() -> None:
    g = 'T.call_extern("int32", "g")'
    f = program(f"for k in range(10):\n    B[{g}] = B[{g}] + A[k]", AB.format("int32"))
    found = refused(f, Reassociate((), partial(), (variable(f, "k") % 3,)), "")
    assert found.reason == "B is read in the nest other than by its own update, or by an opaque call"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("dtype", "other", "op"), [("bool", "int8", "B[2] & A[k]"), ("float32", "int32", "B[2] * A[k]")]
)
def test_a_result_that_no_term_meets_may_be_no_value_of_its_type(dtype: str, other: str, op: str) -> None:
    """B[2] & true is undefined where the byte is 2, and its bits were another view's; so are those of a NaN."""
    view = f'V = T.decl_buffer((4,), "{other}", data=B.data)\n'
    text = f"{view}for k in range(T.min(n, 10)):\n    B[2] = {op}\nV[1] = V[2]"
    f = program(text, AB.format(dtype))
    start = licensed_for(f, "B") if dtype == "float32" else f
    refused(start, Reassociate((0, 0), partial(dtype), (variable(f, "k") % 3,)), "has views of several types")
    text = text.replace(f'"{other}"', f'"{dtype}"')
    f = program(text, AB.format(dtype))
    start = licensed_for(f, "B") if dtype == "float32" else f
    accepted(start, Reassociate((0, 0), partial(dtype), (variable(f, "k") % 3,)))


def test_a_group_belongs_to_the_terms_element_in_each_dimension() -> None:
    f = program(
        "for k in range(10):\n    C[k % 2, k % 5] = C[k % 2, k % 5] + A[k]",
        'A: T.Buffer((10,), "int32"), C: T.Buffer((2, 5), "int32")',
    )
    k, x, y = variable(f, "k"), Var.fresh("x"), Var.fresh("y")
    partial = Buffer.declare("P", (2, 5), "int32")
    accepted(f, Reassociate((), partial, (k % 2, k % 5), (x, y), (x, y)))
    for element in ((const(0), y), (x, const(0))):
        refused(f, Reassociate((), partial, (k % 2, k % 5), (x, y), element), "belongs to the term's element of C")
