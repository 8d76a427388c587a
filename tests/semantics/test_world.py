"""Opaque calls mean what the world says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from verified_tir.ir.dtype import DType
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.script import parse_func
from verified_tir.semantics.interpreter import Outcome, UndefinedBehaviour, Unsupported, run
from verified_tir.semantics.interpreter.world import Given, Pointer
from verified_tir.semantics.memory import View
from verified_tir.semantics.values import Value
from verified_tir.testing.callees import Callees


def function(body: str) -> PrimFunc:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return parse_func(f'@T.prim_func\ndef f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):\n{lines}\n')


class Told:
    """A world that notes what it is told, and stores 7 where it is sent."""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def begin(self, views: Sequence[View]) -> None:
        self.heard.append([v.name for v in views])

    def call(self, op: str, given: Sequence[Given], result: DType) -> Value:
        self.heard.append([(g.view.name, g.byte) if isinstance(g, Pointer) else g for g in given])
        for g in given:
            if isinstance(g, Pointer):
                g.view.write(g.view.block, g.byte, 7)
        return 3

    def end(self, view: View) -> None:
        self.heard.append(f"end of {view.name}")


def ended(body: str, world: Any) -> Outcome:
    a = np.arange(4, dtype=np.int32)
    return run(function(body), {"A": a, "B": np.zeros(4, np.int32)}, world=world)


LOCAL = 't = T.alloc_buffer((2,), "int32")\nt[0] = 1\nt[1] = 2\n'


def test_a_call_is_told_values_and_places() -> None:
    world = Told()
    body = (
        f"{LOCAL}with T.LetStmt(T.if_then_else(A[1] > 0, t.data, B.data)) as p:\n"
        "    B[0] = T.call_extern('int32', 'g', p, A[2], T.address_of(A[3]))\nB[1] = t[0]"
    )
    outcome = ended(body, world)
    assert world.heard == [["A", "B"], ["g", ("t", 0), 2, ("A", 12)], "end of t"]
    assert outcome.arrays["A"].tolist() == [0, 1, 2, 7] and outcome.arrays["B"].tolist() == [3, 7, 0, 0]


def test_without_a_world_nobody_knows() -> None:
    for given in ("", ", A.data", ", T.address_of(A[0])"):
        with pytest.raises(Unsupported, match="the opaque call"):
            ended(f"T.evaluate(T.call_extern('int32', 'g'{given}))", None)
    with pytest.raises(Unsupported, match="the pointer"):
        ended("with T.LetStmt(T.if_then_else(A[1] > 0, A.data, B.data)) as p:\n    B[0] = 1", None)


def test_what_a_call_is_given_is_defined() -> None:
    with pytest.raises(UndefinedBehaviour, match="an argument of call_extern is undef"):
        ended('t = T.alloc_buffer((2,), "int32")\nT.evaluate(T.call_extern("int32", "g", t[0]))', Told())


CALL = "T.evaluate(T.call_extern('int32', 'g'{}))"


def test_callees_do_the_same_to_the_same() -> None:
    body = f"{LOCAL}{CALL.format(', t.data')}\nB[0] = t[0] + t[1]"
    for seed in range(20):
        assert ended(body, Callees(seed)).arrays["B"].tolist() == ended(body, Callees(seed)).arrays["B"].tolist()


@pytest.mark.parametrize(
    "other",
    [
        CALL.format(", 1") + "\nA[0] = 5",
        "A[0] = 5\n" + CALL.format(", 2"),
        "A[0] = 6\n" + CALL.format(", 1"),
        "A[0] = 5\n" + CALL.format(", B.data"),
        "A[0] = 5\n" + "\n".join([CALL.format(", 1")] * 2),
    ],
)
def test_callees_tell_what_is_different(other: str) -> None:
    """Of two programs that some callee can tell apart, some of these callees leave different arrays."""
    body = "A[0] = 5\n" + CALL.format(", 1")
    ends = [[ended(b, Callees(seed)).arrays for b in (body, other)] for seed in range(12)]
    assert any(x[name].tolist() != y[name].tolist() for x, y in ends for name in "AB")


def test_callees_touch_nothing_that_is_gone() -> None:
    body = (
        f"for i in range(1):\n    {LOCAL.strip().replace(chr(10), chr(10) + '    ')}\n    {CALL.format(', t.data')}\n"
    )
    messages = set()
    for seed in range(12):
        try:
            ended(body + CALL.format(""), Callees(seed))
        except UndefinedBehaviour as end:
            messages.add(end.message)
    assert messages == {"a callee touches t, which is gone"}
