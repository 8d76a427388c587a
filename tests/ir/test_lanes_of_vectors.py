"""Vectors without lanes, or of no element type, do not exist: the type of a vector says so, for all that make one."""

from __future__ import annotations

import pytest

from verified_tir.ir.dtype import INT32
from verified_tir.ir.expr import Broadcast, Call, Expr, IntImm, Ramp, Shuffle, StringImm
from verified_tir.ir.node import IRError
from verified_tir.ir.paths import put
from verified_tir.ir.stmt import SKIP, Evaluate, Seq
from verified_tir.semantics.encode import Encoder, Unencodable

ONE = IntImm(INT32, 1)


@pytest.mark.parametrize("lanes", [0, -1])
def test_no_lanes(lanes: int) -> None:
    for make in (lambda: Ramp(ONE, ONE, lanes), lambda: Broadcast(ONE, lanes)):
        with pytest.raises(IRError, match="at least one lane"):
            make()


def test_shuffles_of_nothing() -> None:
    with pytest.raises(IRError, match="at least one lane"):
        Shuffle((ONE,), ())
    with pytest.raises(IRError, match="needs vectors"):
        Shuffle((), (0,))


def test_an_opaque_call_has_no_value() -> None:
    opaque: tuple[Expr, ...] = (Call(INT32, "call_extern", (ONE,)), StringImm("f"))
    for e in opaque:
        with pytest.raises(Unencodable):
            Encoder({}).encode(e)


def test_a_sequence_put_into_a_sequence_is_spliced() -> None:
    a, b, c = (Evaluate(IntImm(INT32, k)) for k in range(3))
    assert put(Seq((a, a)), (1,), Seq((b, c))) is Seq((a, b, c))
    assert put(Seq((a, b)), (0,), SKIP) is b
