"""The mask of an access to elements with lanes has one lane for each element, not for each scalar."""

from __future__ import annotations

import pytest

from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Broadcast, Load, Ramp
from verified_tir.ir.sugar import binary, const
from verified_tir.logic import formula as f
from verified_tir.logic.formula import Term
from verified_tir.semantics.encode import Encoder, Safety


@pytest.mark.parametrize("taken", [0, 1, 2, 3])
def test_lanes_of_an_element_are_masked_together(taken: int) -> None:
    buffer = Buffer.declare("A", (3,), "int32x2")
    elements = Ramp(const(0), const(1), 3)
    load = Load(buffer, (elements,), binary("lt", elements, Broadcast(const(taken), 3)))
    read: list[tuple[Term, ...]] = []

    def element(buffer: Buffer, indices: tuple[Term, ...], lane: Term | None, _: object) -> tuple[Term, Term]:
        assert lane is not None
        read.append((*indices, lane))
        return f.app("A", (*indices, lane), f.INT), f.TRUE

    safety: list[Safety] = []
    found = [Encoder({}, element, safety).encode(load, f.integer(k)).defined for k in range(6)]
    assert found == [f.boolean(k // 2 < taken) for k in range(6)]
    assert read == [(f.integer(k // 2), f.integer(k % 2)) for k in range(6)]
