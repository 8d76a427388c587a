"""HoistExpression, ReduceLoopExtents, RemoveNoOp as passes: RFC 77's example, and the flags as numbers."""

from __future__ import annotations

from tests.lower.lower_support import gives, lowered
from tests.lower.test_removals import program
from verified_tir.lower.expression import parse_pipeline
from verified_tir.lower.hoist_expression import HoistExpression
from verified_tir.lower.reduce_loop_extents import ReduceLoopExtents
from verified_tir.lower.remove_no_op import RemoveNoOp

PADDING = """
for i, j in T.grid(2, 4):
    if i == 0 and j < 2:
        A[4 * i + j] = T.float32(0.0)
"""


def test_the_initialisation_of_padding() -> None:
    gives(
        program(PADDING),
        HoistExpression(conditionals=4) >> ReduceLoopExtents(),
        "for j in range(2):\n    A[j] = T.float32(0.0)",
    )
    gives(  # the whole condition may not leave the loop over j
        program(PADDING),
        HoistExpression() >> ReduceLoopExtents(),
        "for i, j in T.grid(2, 2):\n    if i == 0:\n        A[j] = T.float32(0.0)",
    )


def test_chains_of_overwritten_stores() -> None:
    text = "A[0] = T.float32(1.0)\nA[0] = T.float32(2.0)\nA[0] = T.float32(3.0)"
    gives(program(text), RemoveNoOp(), "A[0] = T.float32(3.0)")
    reads = text.replace("A[0] = T.float32(2.0)", "B[0] = A[0]")
    gives(program(reads), RemoveNoOp(), reads)


def test_what_becomes_a_no_op_goes_too() -> None:
    """The last store is one once the loop is gone, of which nothing is known but where it stores."""
    text = """
A[0] = T.float32(1.0)
B[0] = A[0]
for i in range(8):
    A[i] = A[i]
A[0] = T.float32(1.0)
"""
    gives(program(text), RemoveNoOp(), "A[0] = T.float32(1.0)\nB[0] = A[0]")


def test_the_flags_in_a_pipeline_text() -> None:
    made = parse_pipeline("HoistExpression(conditionals=7, let_bindings=0) >> ReduceLoopExtents >> RemoveNoOp")
    assert repr(made) == "Pipeline(HoistExpression(conditionals=7, let_bindings=0), ReduceLoopExtents(), RemoveNoOp())"
    again, _ = lowered(program(PADDING), made >> made)
    once, _ = lowered(program(PADDING), made)
    assert len(again.derivation) == len(once.derivation)
