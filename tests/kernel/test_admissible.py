"""Programs of which there are no theorems: what a buffer is like may not depend on memory, nor on an opaque call."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.kernel.programs import PROVER, function, load, store
from verified_tir.elaborate.claims import verify_program
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Call, Expr, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Allocate, DeclBuffer
from verified_tir.ir.wellformed import problem
from verified_tir.kernel.obligation import NoMatch

A = Buffer.declare("A", (8,), "int32")
M = Var.fresh("m")

DECLARED: dict[str, Callable[[Expr], Buffer]] = {
    "extent": lambda e: Buffer.declare("V", (2, e), "int32", data=A.data),
    "stride": lambda e: Buffer.declare("V", (2, 2), "int32", data=A.data, strides=(e, M - M + 1)),
    "offset": lambda e: Buffer.declare("V", (2, 2), "int32", data=A.data, elem_offset=e),
}


def declares(part: str, e: Expr) -> PrimFunc:
    view = DECLARED[part](e)
    return function([A, M], DeclBuffer(view, store(view, 1, 0, 0)))


@pytest.mark.parametrize("part", DECLARED)
@pytest.mark.parametrize(
    "e", [load(A, 0), load(A, 0) + 1, Call(M.dtype, "call_extern", ()), Call(M.dtype, "call_extern", ()) * M]
)
def test_what_a_buffer_is_like_is_known_without_looking(part: str, e: Expr) -> None:
    words = "an extent of V reads memory; it must be bound by a let first"
    assert problem(declares(part, e)) == words
    found = verify_program(declares(part, e), PROVER)
    assert isinstance(found, NoMatch) and found.reason == words


@pytest.mark.parametrize("part", DECLARED)
@pytest.mark.parametrize("e", [M, M + 1, Call(M.dtype, "popcount", (M,))])
def test_symbols_and_pure_functions_of_them_are_known(part: str, e: Expr) -> None:
    assert problem(declares(part, e)) is None


def test_allocations_too() -> None:
    local = Buffer.declare("t", (load(A, 0),), "int32")
    found = problem(function([A], Allocate(local, store(local, 1, 0))))
    assert found is not None and "an extent of t reads memory" in found
