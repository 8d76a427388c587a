"""Elements that were initialised and then updated are defined: one may branch on them.

Beside each program with a meaning stands its neighbour without one, which the interpreter finds to have none.
"""

from __future__ import annotations

import numpy as np
import pytest

from verified_tir import Refuted, Schedule, Undecided
from verified_tir.ir.script import parse_func
from verified_tir.semantics.interpreter import UndefinedBehaviour, run

HEAD = """
@T.prim_func
def f(A: T.Buffer((4, 3), "float32"), C: T.Buffer((4,), "float32"){more}):
    B = T.alloc_buffer((4,), "float32")
"""
BRANCH = """
    for i in range(4):
        if B[i] > T.float32(0):
            C[i] = B[i]
"""


def program(nest: str, more: str = "", tail: str = BRANCH) -> str:
    return HEAD.format(more=more) + nest.strip("\n") + tail


REDUCTION = """
    for i, k in T.grid(4, 3):
        if k == 0:
            B[i] = T.float32(0)
        B[i] = B[i] + A[i, k]
"""

LEGAL = {
    "a reduction": program(REDUCTION),
    "two axes": program("""
    for i, k, l in T.grid(4, 3, 3):
        if k == 0 and l == 0:
            B[i] = A[i, k]
        B[i] = T.max(B[i], A[i, l])
"""),
    "two updates": program("""
    for i, k in T.grid(4, 3):
        if k == 0:
            B[i] = T.float32(0)
        B[i] = B[i] + A[i, k]
        B[i] = B[i] * T.float32(2)
"""),
    "initialised before": program("""
    for i in range(4):
        B[i] = T.float32(1)
    for i, k in T.grid(4, 3):
        B[i] = B[i] * A[i, k]
"""),
    "the last iteration initialises": program("""
    for i, k in T.grid(4, 3):
        B[i] = B[i] + A[i, k]
        if k == 2:
            B[i] = T.float32(0)
"""),
    "any number of updates": program("""
    for i in range(4):
        B[i] = T.float32(0)
        for k in range(n):
            B[i] = B[i] + A[i, 0]
""", ", n: T.int32"),
    "in the iteration itself": program("""
    for i, k in T.grid(4, 3):
        if k == 0:
            B[i] = T.float32(0)
        B[i] = B[i] + A[i, k]
        if B[i] > T.float32(0):
            C[i] = T.float32(1)
""", tail=""),
    "at the head of a later iteration": program("""
    for i, k in T.grid(4, 3):
        if k > 0:
            if B[i] > T.float32(0):
                C[i] = T.float32(1)
        if k == 0:
            B[i] = T.float32(0)
        B[i] = B[i] + A[i, k]
""", tail=""),
}  # fmt: skip

ILLEGAL = {
    "the value loaded before": program("""
    for i, k in T.grid(4, 3):
        x: T.let[T.float32] = B[i]
        if k == 0:
            B[i] = T.float32(0)
        B[i] = x + A[i, k]
"""),
    "loaded before, and now": program("""
    for i, k in T.grid(4, 3):
        x: T.let[T.float32] = B[i]
        if k == 0:
            B[i] = T.float32(0)
        B[i] = B[i] + x
"""),
    "initialised where a value says": program("""
    for i, k in T.grid(4, 3):
        if k == 0 and A[i, k] > T.float32(0):
            B[i] = T.float32(0)
        B[i] = B[i] + A[i, k]
"""),
    "no iteration perhaps": program("""
    for i in range(4):
        for k in range(n):
            if k == 0:
                B[i] = T.float32(0)
            B[i] = B[i] + A[i, 0]
""", ", n: T.int32"),
    "an iteration that is not reached": program("""
    for i, k in T.grid(4, 3):
        if k == 3:
            B[i] = T.float32(0)
        B[i] = B[i] + A[i, k]
"""),
    "not all elements": program("""
    for i, k in T.grid(4, 3):
        if k == 0 and i > 0:
            B[i] = T.float32(0)
        B[i] = B[i] + A[i, k]
"""),
    "the value of another element": program("""
    for i, k in T.grid(4, 3):
        if k == 0:
            B[i] = T.float32(0)
        B[i] = B[i] + B[3 - i]
"""),
    "a value that never was": program("""
    for i, k in T.grid(4, 3):
        if k == 0:
            B[i] = T.float32(0)
        B[i] = B[i] + D[k]
""").replace('    B = T.alloc', '    D = T.alloc_buffer((3,), "float32")\n    B = T.alloc'),
    "undefined again": program("""
    for i, k in T.grid(4, 3):
        if k == 0:
            B[i] = T.float32(0)
        B[i] = T.if_then_else(k == 1, T.undef(), B[i])
"""),
    "before the first iteration": program("""
    for i, k in T.grid(4, 3):
        if B[i] > T.float32(0):
            C[i] = T.float32(1)
        if k == 0:
            B[i] = T.float32(0)
        B[i] = B[i] + A[i, k]
""", tail=""),
    "lanes that were loaded before": program("""
    for i, k in T.grid(4, 3):
        if k == 0:
            B[i] = T.float32(0)
        B[T.Ramp(i, 0, 2)] = B[T.Ramp(3 - i, 0, 2)]
"""),
}  # fmt: skip


@pytest.mark.parametrize("name", LEGAL)
def test_what_was_initialised_and_updated_is_defined(name: str) -> None:
    Schedule(LEGAL[name])


@pytest.mark.parametrize("name", ILLEGAL)
def test_its_neighbours_are_refused(name: str) -> None:
    with pytest.raises((Refuted, Undecided), match=r"depends on nothing undefined"):
        Schedule(ILLEGAL[name])
    func = parse_func(ILLEGAL[name])
    args = {"A": -np.ones((4, 3), np.float32), "C": np.zeros(4, np.float32), "n": 0}
    with pytest.raises(UndefinedBehaviour):
        run(func, {k: v for k, v in args.items() if k in {p.name for p in func.params} or k in "AC"})
