"""A sequence that stands directly in a sequence, which no text gives: places in a program mean what they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.kernel.programs import AB, accepted, body_of, program, refused
from tests.kernel.rules.test_stage import SIX, read, window
from verified_tir.ir.expr import Binary
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import put
from verified_tir.ir.stmt import Allocate, For, Seq
from verified_tir.ir.sugar import const
from verified_tir.kernel.rules.common import replaced
from verified_tir.kernel.rules.rewrite import Edit, Rewrite
from verified_tir.kernel.rules.scope import Move
from verified_tir.semantics.interpreter import run


def nested(body: str, params: str) -> PrimFunc:
    """The program with its first two statements in a sequence of their own."""
    f = program(body, params)
    assert isinstance(f.body, Seq)
    first, second, *others = f.body.stmts
    return f.with_body(Seq((Seq((first, second)), *others)))


def test_a_sequence_put_into_a_sequence_is_spliced_and_no_other_one() -> None:
    a, b, c, d = program("A[0] = 1\nA[1] = 2\nB[0] = 3\nB[1] = 4").body.stmts  # type: ignore[attr-defined]
    inner = Seq((a, b))
    assert put(Seq((inner, c)), (1,), d) is Seq((inner, d))
    assert put(Seq((inner, c)), (0, 1), d) is Seq((Seq((a, d)), c))
    assert put(Seq((inner, c)), (0,), Seq((c, d))) is Seq((Seq((c, d)), c))
    assert put(Seq((inner, c)), (0, 1), Seq((c, d))) is Seq((Seq((a, c, d)), c))
    assert put(Seq((c, d)), (0,), inner) is Seq((a, b, d))
    assert put(Seq((inner,)), (0,), a) is Seq((a,))


def test_edits_are_made_where_they_are_proved() -> None:
    """Were the sequence spliced by the first edit, ``B[1] = 3`` would stand where ``B[0] = 3`` was."""
    f = nested("A[0] = 1\nA[0] = 2\nB[0] = 3\nB[1] = 3", AB)
    three = Binary("add", const(1), const(2))
    new = accepted(f, Rewrite((), (Edit((1,), (0,), three), Edit((2,), (0,), three))))
    assert body_of(new) == "A[0] = 1\nA[0] = 2\nB[0] = T.Add(1, 2)\nB[1] = T.Add(1, 2)"


def test_reads_go_to_the_copy_where_they_are_proved_to_lie_in_it() -> None:
    """Else ``A[5]`` would be read from a copy of four elements."""
    f = nested("B[0] = A[0]\nB[1] = A[5]\nB[2] = A[1]", SIX)
    new = accepted(f, replace(read(f, window(0, 4)), only=((0, 0), (1,))))
    assert body_of(new).endswith("B[0] = c[0]\nB[1] = A[5]\nB[2] = c[1]")


TWICE = """
t = T.alloc_buffer((1,), "int32")
for i in range(2):
    B[0] = 1
    if i > 0:
        B[0] = 0
    if B[0] == 1:
        t[0] = 5
    A[i] = t[0]
"""
"""The second iteration reads what the first one stored."""

OWN = "scope: the read of t sees a write of its own iteration (Refuted)"


def left_in_a(f: PrimFunc) -> list[int]:
    """The first two elements of A after a run."""
    arrays = {name: np.zeros(4, np.int32) for name in "AB"}
    return run(f, arrays).arrays["A"][:2].tolist()  # type: ignore[no-any-return]


def test_an_allocation_moves_into_a_loop_that_takes_the_place_of_a_sequence() -> None:
    """Where the allocation goes, the sequence is spliced: what stands at its place then is the loop."""
    f = program(TWICE)
    body = f.body
    assert isinstance(body, Allocate)
    f = f.with_body(Seq((Allocate(body.buffer, Seq((body.body,))),)))
    assert left_in_a(f) == [5, 5]
    refused(f, Move((0,), (0,)), OWN)


def test_several_statements_are_replaced_where_they_stand() -> None:
    """Were the sequence before them spliced, what they read would be looked at before ``B[0] = 0``."""
    f = program(TWICE)
    assert isinstance(f.body, Allocate)
    loop = f.body.body
    assert isinstance(loop, For)
    assert isinstance(loop.body, Seq)
    one, two, three, four = loop.body.stmts
    body = Seq((Seq((one, two)), three, four))
    assert replaced(body, (1,), 2, one) is Seq((Seq((one, two)), one))
    assert replaced(body, (0,), 3, one) is one
    assert replaced(body, (1,), 2, Seq((three, four))) is body
    nested_there = f.with_body(Allocate(f.body.buffer, replace(loop, body=body)))
    assert left_in_a(nested_there) == [5, 5]
    refused(nested_there, Move((), (0, 1), 2), OWN)
