"""Which elements may be touched, of parameters and allocations, through any view: element by element."""

from __future__ import annotations

import pytest

from tests.kernel.programs import PROVER, function, store
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, Expr, Load, Undef, Var
from verified_tir.ir.stmt import SKIP, Allocate, AttrStmt, DeclBuffer, Stmt
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.begin import begin
from verified_tir.kernel.context import Context
from verified_tir.kernel.entry import prove_program
from verified_tir.kernel.memory import Entry, Padding
from verified_tir.kernel.obligation import Unproved
from verified_tir.logic import formula as f

i, j, n = Var.fresh("i"), Var.fresh("j"), Var.fresh("n")


def context(base: Buffer, *views: Buffer, closed: Expr | None = None, pad: Expr | None = None) -> Context:
    """A function of ``base`` (and n) with these views, where ``closed`` says which elements of ``base`` are padding."""
    body: Stmt = SKIP
    for v in views:
        body = DeclBuffer(v, body)
    paddings = () if closed is None else (Padding(base, (i, j), closed, pad),)
    return begin(function([base, n], body), Entry(paddings))


def touched(where: Context, buffer: Buffer, places: range) -> list[int]:
    """The indices among ``places`` that may be touched."""
    found = {k: where.accessible(buffer, (f.integer(k),)) for k in places}
    assert set(found.values()) <= {f.TRUE, f.FALSE}, "all is constant here"
    return [k for k, t in found.items() if t is f.TRUE]


BEYOND_TEN = binary("ge", i * 4 + j, 10)


@pytest.mark.parametrize(("offset", "shift"), [(0, 0), (0, 1), (2, 0), (2, 2), (2, 3)])
def test_elements_that_are_padding_are_closed_in_other_views_too(offset: int, shift: int) -> None:
    a = Buffer.declare("A", (3, 4), "int32", elem_offset=offset)
    view = Buffer.declare("V", (20,), "int32", data=a.data, elem_offset=shift)
    where = context(a, view, closed=BEYOND_TEN)
    assert touched(where, view, range(-4, 20)) == [*range(offset - shift, offset - shift + 10)]
    for k in range(12):
        inside = where.accessible(a, (f.integer(k // 4), f.integer(k % 4)))
        assert inside is f.boolean(k < 10)


def test_padding_that_holds_something_is_open() -> None:
    a = Buffer.declare("A", (3, 4), "int32")
    view = Buffer.declare("V", (12,), "int32", data=a.data)
    for pad in (const(7), Undef(const(7).dtype)):
        assert touched(context(a, view, closed=BEYOND_TEN, pad=pad), view, range(13)) == [*range(12)]
    assert touched(context(a, view, closed=binary("lt", i, 0)), view, range(13)) == [*range(12)]
    other = Buffer.declare("V", (12,), "int32")
    assert touched(context(a, other, closed=BEYOND_TEN), other, range(13)) == [*range(13)]  # nobody's block


@pytest.mark.parametrize(
    ("shape", "strides", "view_type", "view_strides"),
    [
        ((3, 4), (), "int8", ()),
        ((3, 4), (), "float32", ()),
        ((3, 4), (), "int32", (1,)),
        ((3, 4), (4, 1), "int32", ()),
        ((3, n), (), "int32", ()),
        ((n, n), (), "int32", ()),
        ((3, 0), (), "int32", ()),
    ],
)
def test_what_is_not_understood_is_closed(
    shape: tuple[int | Var, ...], strides: tuple[int, ...], view_type: str, view_strides: tuple[int, ...]
) -> None:
    a = Buffer.declare("A", shape, "int32", strides=strides)
    view = Buffer.declare("V", (4,), view_type, data=a.data, strides=view_strides)
    where = context(a, view, closed=binary("ge", i, 2))
    assert where.accessible(view, (f.integer(0),)) is f.FALSE
    assert where.accessible(a, (f.integer(1), f.integer(0))) is f.TRUE


def test_a_view_stays_inside_of_its_block() -> None:
    """Of another width: the bytes count."""
    a = Buffer.declare("A", (3, 4), "int16", elem_offset=2)
    wide = Buffer.declare("W", (40,), "int32", data=a.data)
    narrow = Buffer.declare("N", (40,), "int8", data=a.data)
    where = context(a, wide, narrow)
    assert touched(where, wide, range(-3, 20)) == [*range(1, 7)]
    assert touched(where, narrow, range(-3, 40)) == [*range(4, 28)]
    at_once = Buffer.declare("P", (40,), "int16x2", data=a.data)
    assert touched(context(a, at_once), at_once, range(-3, 20)) == [*range(1, 7)]


def test_a_parameter_is_as_it_was_declared() -> None:
    """Its own elements are there, wherever it begins; but nothing lies in front of the block's first byte."""
    for offset in (n, const(-2)):
        a = Buffer.declare("A", (12,), "int32", elem_offset=offset)
        assert context(a).accessible(a, (f.integer(0),)) is f.TRUE
    view = Buffer.declare("V", (12,), "int32", data=a.data, elem_offset=-2)
    assert touched(context(a, view), view, range(-4, 14)) == [*range(2, 12)]


def test_no_padding_at_all_closes_nothing() -> None:
    a = Buffer.declare("A", (3, 4), "int32")
    view = Buffer.declare("V", (48,), "int8", data=a.data)
    assert touched(context(a, view, closed=FALSE), view, range(50)) == [*range(48)]


@pytest.mark.parametrize(
    ("strides", "offset", "fine"),
    [((), 0, True), ((), 3, True), ((), -1, False), ((2,), 0, True), ((0,), 0, True), ((-1,), 3, False)],
)
def test_an_allocation_reaches_upwards_from_its_first_byte(strides: tuple[int, ...], offset: int, fine: bool) -> None:
    local = Buffer.declare("t", (4,), "int32", strides=strides, elem_offset=offset)
    where = begin(function([n], Allocate(local, store(local, 1, 0))), Entry())
    assert where.accessible(local, (f.integer(0),)) is f.boolean(fine)


def test_an_attribute_makes_no_view_the_block() -> None:
    """It may be about a view that is declared further inside, and then mentions that before the allocation."""
    local = Buffer.declare("t", (4,), "int32")
    view = Buffer.declare("V", (100,), "int32", data=local.data)
    inside = Allocate(local, DeclBuffer(view, store(view, 1, 50)))
    for body in (inside, AttrStmt("key", Load(view, (const(0),)), const(0), inside)):
        func = function([n], body)
        assert touched(begin(func, Entry()), view, range(-2, 100)) == [*range(4)]
        refused = prove_program(func, PROVER, Entry())
        assert isinstance(refused, Unproved) and refused.obligation.claim == "V[50]: accessible"
