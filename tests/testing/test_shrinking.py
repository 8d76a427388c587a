"""What ``hypothesis.find`` makes of programs: small, readable, without anything left over."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import find, settings

from verified_tir import script
from verified_tir.ir.expr import Binary, Load
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.node import Node
from verified_tir.ir.stmt import For, If, Store
from verified_tir.ir.visit import walk
from verified_tir.testing import ALL_FEATURES, prim_funcs

RANDOM = ALL_FEATURES - {"textbook"}
QUIET = settings(derandomize=True, database=None, max_examples=500)


def smallest(has: Callable[[PrimFunc], bool], *without: str) -> str:
    """The body and the parameters of the program that is left."""
    lines = script(find(prim_funcs(RANDOM - set(without)), has, settings=QUIET)).splitlines()
    return "\n".join(lines[3:])


def some(test: Callable[[Node], bool], count: int = 1) -> Callable[[PrimFunc], bool]:
    return lambda func: sum(test(n) for n in walk(func.body)) >= count


def test_a_branch() -> None:
    assert smallest(some(lambda n: isinstance(n, If))) == (
        'def main(A: T.Buffer((1,), "float32"), x: T.int32):\n'
        "    if x < 0:\n"
        "        A[0] = T.float32(0.0)"
    )  # fmt: skip
    assert smallest(some(lambda n: isinstance(n, If)), *(RANDOM - {"guards"})) == (
        'def main(A: T.Buffer((2,), "float32")):\n'
        "    for i in range(2):\n"
        "        if i < 0:\n"
        "            A[i] = T.float32(0.0)"
    )  # fmt: skip


@pytest.mark.nightly
def test_two_loops() -> None:
    assert smallest(some(lambda n: isinstance(n, For), 2), "reductions", "blocks", "vectors") == (
        'def main(A: T.Buffer((2, 2), "float32")):\n'
        "    for i, j in T.grid(2, 2):\n"
        "        A[i, j] = T.float32(0.0)"
    )  # fmt: skip


def updates(n: Node) -> bool:
    return isinstance(n, Store) and isinstance(n.value, Binary) and (
        isinstance(n.value.a, Load) and n.value.a.buffer is n.buffer and n.value.a.indices == n.indices
    )  # fmt: skip


@pytest.mark.nightly
def test_an_update() -> None:
    left = smallest(some(updates), "while_loops")
    assert len(left.splitlines()) <= 5 and "C: " not in left, left
