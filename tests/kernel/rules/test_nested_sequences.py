"""A sequence that stands directly in a sequence, which no text gives: places in a program mean what they are."""

from __future__ import annotations

from dataclasses import replace

from tests.kernel.programs import AB, accepted, body_of, program
from tests.kernel.rules.test_stage import SIX, read, window
from verified_tir.ir.expr import Binary
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import put
from verified_tir.ir.stmt import Seq
from verified_tir.ir.sugar import const
from verified_tir.kernel.rules.rewrite import Edit, Rewrite


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
