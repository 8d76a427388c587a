"""No float reduction is reassociated where something is assumed of what was computed."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernel.programs import accepted, licensed_for, program, refused, steps, unlicensed, variable
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import script
from verified_tir.kernel.assumed import of_results
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.reassociate import Reassociate
from verified_tir.semantics.interpreter import AssertionFailed, UndefinedBehaviour, run

PARAMS = 'A: T.Buffer((4,), "{0}"), B: T.Buffer((1,), "{0}"), D: T.Buffer((4,), "int32")'
SUM = "for k in range(4):\n    B[0] = B[0] + A[k]\n"


def split(text: str, dtype: str = "float32") -> tuple[PrimFunc, Reassociate]:
    f = program(SUM + text, PARAMS.format(dtype))
    return f, Reassociate((0,), Buffer.declare("P", (2,), dtype), (variable(f, "k") % 2,))


@pytest.mark.parametrize(
    "text",
    [
        "T.assume(B[0] == T.float32(0))\nD[0] = 1",
        "x = B[0]\ny = x + x\nT.assume(y < T.float32(4))\nD[0] = 1",
        "if B[0] > T.float32(0):\n    T.assume(A[0] > T.float32(0))\n    D[0] = 1",
        "for i in range(T.Cast('int32', B[0])):\n    T.assume(i < 4)\n    D[i] = 1",
        "D[0] = T.Cast('int32', B[0])\nT.assume(D[0] < 4 and D[0] >= 0)\nD[D[0]] = 1",
    ],
)
def test_an_assumption_about_a_result_may_be_false_of_another_order(text: str) -> None:
    f, rule = split(text)
    step, reason = unlicensed(f, "B")
    assert step == -1 and "may be false of a sum in another order" in reason
    refused(f, rule, "has the same bits in any order")


def test_an_assumption_that_was_erased_has_been_relied_upon() -> None:
    f, rule = split("T.assume(B[0] == T.float32(0))\nD[T.Cast('int32', B[0])] = 1")
    erased = steps(f, Erase((1,)))
    assert "may be false" in unlicensed(erased, "B")[1]
    refused(erased, rule, "has the same bits in any order")


def before_the_sum(text: str) -> tuple[PrimFunc, Reassociate]:
    f = program(text + SUM + "D[0] = 1", PARAMS.format("float32"))
    return f, Reassociate((1,), Buffer.declare("P", (2,), "float32"), (variable(f, "k") % 2,))


@pytest.mark.parametrize(
    "text",
    [
        "T.assume(B[0] == T.float32(0))\n",
        "for i in range(1):\n    T.assume(B[i] == T.float32(0) and D[i] >= 0)\n",
        "if B[0] > T.float32(0):\n    T.assume(D[0] > 0)\n",
    ],
)
def test_what_was_there_at_the_beginning_is_no_result(text: str) -> None:
    f, rule = before_the_sum(text)
    accepted(licensed_for(f, "B"), rule)


@pytest.mark.parametrize(
    "text",
    [
        "for i in range(2):\n    T.assume(B[0] == T.float32(0))\n    B[0] = B[0] + A[i]\n",
        "if D[0] > 0:\n    B[0] = A[0]\n    T.assume(B[0] == T.float32(0))\n",
        "with T.block('b'):\n    B[0] = A[0]\n    T.assume(B[0] == T.float32(0))\n",
    ],
)
def test_what_was_stored_is_one(text: str) -> None:
    f, _ = before_the_sum(text)
    step, reason = unlicensed(f, "B")
    assert step == -1 and "may be false of a sum in another order" in reason


def test_other_assumptions_and_exact_reductions_remain() -> None:
    f, rule = split("T.assume(A[0] == T.float32(0))\nif B[0] > T.float32(0):\n    D[0] = 1")
    accepted(licensed_for(f, "B"), rule)
    f, rule = split("T.assume(B[0] == 0)\nD[B[0]] = 1", "int32")
    accepted(f, rule)


STOPPED = "T.assume(D[0] >= 0 and D[0] < 4)\nD[D[0]] = 1"


@pytest.mark.parametrize(
    "text",
    [
        "assert B[0] == T.float32(1), 'no'\n",
        "for i in range(1):\n    assert B[0] == T.float32(1), 'no'\n",
        "x = B[0]\nassert x == T.float32(1), 'no'\n",
        "if B[0] < T.float32(1):\n    assert A[0] == A[1], 'no'\n",
        "while B[0] < T.float32(1):\n    T.evaluate(0)\n",
        "while A[0] < T.float32(1):\n    B[0] = A[1]\n",
    ],
)
def test_an_assumption_behind_what_another_order_may_get_past(text: str) -> None:
    """A run that an assertion ended has no undefined behaviour, whatever D[0] is."""
    f, _ = split(text + STOPPED)
    step, reason = unlicensed(f, "B")
    assert step == -1 and "may be false of a sum in another order" in reason


def test_an_assertion_that_ends_a_run_in_one_order_only() -> None:
    tail = "assert B[0] == T.float32(1), 'no'\n" + STOPPED
    f, g = (
        program(SUM.replace("A[k]", term) + tail, PARAMS.format("float32"))
        for term in ("A[k]", "A[k // 2 + k % 2 * 2]")
    )
    arrays = {"A": np.array([1e8, 1, -1e8, 0], "float32"), "B": np.zeros(1, "float32"), "D": np.full(4, 9, "int32")}
    with pytest.raises(AssertionFailed):
        run(f, arrays)
    with pytest.raises(UndefinedBehaviour, match="assume"):
        run(g, arrays)


EXTERN = "T.evaluate(T.call_extern('int32', 'g'))\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        # an opaque call writes what it likes, and may come back at any time
        ("T.assume(A[0] > T.float32(0))\n" + EXTERN, "T.assume(A[0] > T.float32(0.0))"),
        (EXTERN + "T.assume(A[0] > T.float32(0))", "T.assume(A[0] > T.float32(0.0))"),
        ("T.assume(A[0] > T.float32(0))\nD[0] = 1", None),
        # what was written stays written, whatever comes in between
        ("B[0] = A[0]\nD[0] = 1\nT.assume(B[0] > A[1])", "T.assume(B[0] > A[1])"),
        ("B[0] = A[0]\nD[0] = 1\nT.assume(D[0] > 0)", "T.assume(D[0] > 0)"),
        ("B[0] = A[0]\nD[0] = 1\nT.assume(A[0] > A[1])", None),
        # a let of a result is one, other lets are none
        ("B[0] = A[0]\nx = B[0]\nT.assume(x > A[1])", "T.assume(x > A[1])"),
        ("B[0] = A[0]\nx = A[2]\nT.assume(x > A[1])", None),
        ("x = B[0]\nB[0] = A[0]\nT.assume(x > A[1])", None),
        # what comes later reads a result, or an arm of a branch that was not taken stored one
        ("B[0] = A[0]\nfor i in range(2):\n    T.assume(A[0] > A[1])\n    D[0] = T.Cast('int32', B[0])", None),
        ("if D[1] > 0:\n    B[0] = A[0]\nelse:\n    T.assume(B[0] > A[1])", None),
        # a loop comes to an earlier statement of its body again
        (
            "for i in range(2):\n    T.assume(A[2] > A[1])\n    assert B[0] > A[0], 'no'\n    B[0] = A[1]",
            "T.assume(A[2] > A[1])",
        ),
        # an assertion or a loop that depends on no result ends all runs, or none
        ("B[0] = A[0]\nassert A[1] > A[2], 'no'\nT.assume(A[0] > A[1])", None),
        ("while A[0] > A[1]:\n    T.evaluate(0)\nT.assume(A[0] > A[1])", None),
        ("T.assume(A[0] > A[1])\nB[0] = A[0]\nassert B[0] > A[2], 'no'", None),
        ("while B[0] > A[0]:\n    T.assume(A[2] > A[1])\n    B[0] = A[1]", "T.assume(A[2] > A[1])"),
    ],
)
def test_which_assumptions_are_about_results(text: str, found: str | None) -> None:
    assumed = of_results(program(text, PARAMS.format("float32")))
    assert (None if assumed is None else f"T.assume({script(assumed)})") == found
