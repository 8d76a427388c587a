"""Branches, where it is tight; and what is asked anew of marked loops when something is evaluated where it was not."""

from __future__ import annotations

import pytest

from tests.kernel.programs import AB, accepted, body_of, buffer, gives, load, program, refused, variable
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Block, Seq
from verified_tir.kernel.rules.bind import Inline
from verified_tir.schedule import moves
from verified_tir.schedule.edits import rewritten

ABN = AB + ", n: T.int32"
RACE = "race: the loop over k is parallel: no two of its iterations "
OUTSIDE = "none of its iterations uses L of scope local from outside"


def test_an_arm_that_changes_the_condition_stays_an_arm() -> None:
    """With A[0] == 1 both arms would run."""
    text = "if A[0] > 0:\n    {}[0] = 0\nelse:\n    A[1] = 1"
    refused(program(text.format("A")), moves.reshape((), "split"), "the body writes what bounds or guards read")
    gives(program(text.format("B")), moves.reshape((), "split"),
          "if A[0] > 0:\n    B[0] = 0\nif not A[0] > 0:\n    A[1] = 1")  # fmt: skip


def test_copies_bind_their_own_variables() -> None:
    loop = "for i in range(4):\n    A[i] = i"
    inner = "\n".join(f"    {line}" for line in loop.split("\n"))
    f = program(loop, ABN)
    gives(f, moves.introduce((), variable(f, "n") > 0), f"if n > 0:\n{inner}\nelse:\n{inner}")
    f = program("for i in range(4):\n    if n > 0:\n        A[i] = 1\n    else:\n        A[i] = 2", ABN)
    gives(f, moves.hoist(()), "if n > 0:\n    for i in range(4):\n        A[i] = 1\n"
          "else:\n    for i in range(4):\n        A[i] = 2")  # fmt: skip


def test_a_condition_with_a_pure_call_moves() -> None:
    f = program("for i in range(4):\n    if T.abs(n) > 3:\n        A[i] = 1", ABN)
    gives(f, moves.hoist(()), "if T.abs(n) > 3:\n    for i in range(4):\n        A[i] = 1")


def test_an_opaque_call_may_change_what_a_condition_reads() -> None:
    """The call of one iteration decides whether there is a call in the next one."""
    text = "A[0] = 1\nfor i in range(4):\n    if A[0] > 0:\n        "
    changes = "the body writes what bounds or guards read"
    refused(program(text + 'T.evaluate(T.call_extern("int32", "g", A.data))'), moves.hoist((1,)), changes)
    accepted(program(text + "B[i] = 1"), moves.hoist((1,)))


# -- licences of the loops around --------------------------------------------------------------------------------------

CLEARED = "for j in range(4):\n    A[j] = 0\nfor k in T.{}(4):\n    A[k] = 0\n    "


def both(text: str) -> tuple[PrimFunc, PrimFunc]:
    """The program with a serial loop over k, and with a parallel one."""
    return program(CLEARED.format("serial") + text, ABN), program(CLEARED.format("parallel") + text, ABN)


def test_a_condition_that_another_iteration_writes() -> None:
    for f, fine in zip(both("B[k] = 1"), (True, False), strict=True):
        rule = moves.introduce((1, 0, 1), load(buffer(f, "A"), 3 - variable(f, "k")) > 0)
        if fine:
            assert body_of(accepted(f, rule)).count("B[k] = 1") == 2
        else:
            refused(f, rule, RACE)


def test_a_condition_that_was_never_evaluated() -> None:
    """The inner loop is empty, so its condition reads nothing; outside of it, it does."""
    serial, parallel = both("for i in range(0):\n        if A[3 - k] > 0:\n            B[k] = 1")
    accepted(serial, moves.hoist((1, 0, 1)))
    refused(parallel, moves.hoist((1, 0, 1)), RACE)


def test_bounds_that_were_never_evaluated() -> None:
    serial, parallel = both("if k < 0:\n        for i in range(A[3 - k]):\n            B[k] = i")
    accepted(serial, moves.sink((1, 0, 1)))
    refused(parallel, moves.sink((1, 0, 1)), RACE)


def test_a_value_that_another_iteration_writes() -> None:
    for f, fine in zip(both("B[k] = 0"), (True, False), strict=True):
        rule = rewritten((1, 0, 1), (0,), load(buffer(f, "A"), 3 - variable(f, "k")))
        if fine:
            assert body_of(accepted(f, rule)).endswith("B[k] = A[3 - k]")
        else:
            refused(f, rule, RACE)


THREADS = """
L = T.alloc_buffer((1,), "int32", scope="{}")
L[0] = n
x: T.let[T.int32] = L[0]
A[0] = 2
for k in T.thread_binding(4, thread="threadIdx.x"):
    B[k] = x
"""


def let_in(f: PrimFunc, nest: str) -> tuple[PrimFunc, tuple[int, ...]]:
    """The program with the let inside of sequences that ``put`` flattens, and its place."""
    seq = f.body.body  # type: ignore[attr-defined]
    assert isinstance(seq, Seq)
    first, let = seq.stmts
    if nest == "flat":
        return f, (0, 1)
    if nest == "sequence in a sequence":
        body, path = Seq((Seq((first, let)), Seq(()))), (0, 0, 1)
    else:
        body, path = Seq((Block.label("b", Seq((first, let))),)), (0, 0, 0, 1)
    return f.with_body(type(f.body)(f.body.buffer, body)), path  # type: ignore[attr-defined, call-arg]


@pytest.mark.parametrize("nest", ["flat", "sequence in a sequence", "sequence of one"])
def test_what_a_thread_may_not_read_itself(nest: str) -> None:
    """Where the let goes its statements move up, and paths behind them change: the loop is asked all the same."""
    f, path = let_in(program(THREADS.format("local"), ABN), nest)
    refused(f, Inline(path), OUTSIDE)
    f, path = let_in(program(THREADS.format("global"), ABN), nest)
    assert "B[k] = L[0]" in body_of(accepted(f, Inline(path)))
