"""What a block expands to, node by node; and that it means the same."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernel.programs import body_of, program
from verified_tir.elaborate.blocks import expand, expand_blocks
from verified_tir.ir.stmt import Block
from verified_tir.semantics.interpreter import refines, run

PARAMS = 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")'


@pytest.mark.parametrize(
    ("block", "expanded"),
    [
        (
            "with T.sblock('b'):\n    v = T.axis.spatial(8, i * 2)\n    T.where(i < 3)\n    B[v] = A[v]",
            'if i < 3:\n    with T.sblock("b"):\n        B[i * 2] = A[i * 2]',
        ),
        (  # the predicate, too, speaks of the iteration variables
            "with T.sblock('b'):\n    v = T.axis.spatial(8, i * 2)\n    T.where(v < 5)\n    B[v] = v",
            'if i * 2 < 5:\n    with T.sblock("b"):\n        B[i * 2] = i * 2',
        ),
        (  # what is read is read once, though the body writes there
            "with T.sblock('b'):\n    v = T.axis.opaque(8, A[i] + 1)\n    w = T.axis.spatial(8, i)\n"
            "    T.where(v < 7)\n    A[w] = A[w] + 1\n    B[w] = v",
            "v: T.let[T.int32] = A[i] + 1\nif v < 7:\n    with T.sblock(\"b\"):\n"
            "        A[i] = A[i] + 1\n        B[i] = v",
        ),
        ("with T.sblock('b'):\n    B[i] = A[i]", 'with T.sblock("b"):\n    B[i] = A[i]'),
    ],
)  # fmt: skip
def test_bindings_are_put_in_and_loads_bound(block: str, expanded: str) -> None:
    indented = block.replace("\n", "\n    ")
    f = program(f"for i in range(4):\n    {indented}", PARAMS)
    g = expand_blocks(f)
    indented = expanded.replace("\n", "\n    ")
    assert body_of(g) == f"for i in range(4):\n    {indented}"
    for start in (0, 3):
        arrays = {"A": np.arange(start, start + 8, dtype=np.int32) % 7, "B": np.full(8, 9, np.int32)}
        before, after = (run(h, arrays) for h in (f, g))
        assert refines(before, after) == [] and refines(after, before) == []


def test_a_label_is_left_alone() -> None:
    f = program("for i in range(4):\n    with T.sblock('b'):\n        B[i] = A[i]", PARAMS)
    label = f.body.body  # type: ignore[attr-defined]
    assert isinstance(label, Block) and label.is_label
    assert expand(f.body) is f.body
