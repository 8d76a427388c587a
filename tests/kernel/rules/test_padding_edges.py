"""Padding that gets a value, where it is tight: which padding it is, and what else is known of the parameters."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.kernel.programs import PROVER, load, program, why
from tests.kernel.rules.test_padding import _with_body, holds, padded, reason, tiled
from verified_tir.ir.expr import FALSE, Broadcast, Call, Ramp, Select, Shuffle, StringImm, Undef, Var
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.begin import LARGEST
from verified_tir.kernel.obligation import NoMatch, Unproved
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.padding import PadValue
from verified_tir.kernel.rules.relayout import Relayout
from verified_tir.kernel.theorem import Refines, Rule, apply, reflexive
from verified_tir.schedule.edits import rewritten

PAIR = 'B: T.Buffer((5,), "int32"), C: T.Buffer((5,), "int32")'
TILED = PAIR.replace("(5,)", "(3, 2)")
FULL = LARGEST[32]


def then(theorem: Refines, *rules: Rule) -> Refines:
    for rule in rules:
        new = apply(rule, theorem, PROVER)
        assert isinstance(new, Refines), why(new)
        theorem = new
    return theorem


def both(text: str) -> Refines:
    """``text`` with both parameters in tiles: the padding of B is free, that of C holds 7."""
    start = reflexive(program("pass", PAIR), definite=True)
    free = then(start, tiled(start.after.buffers[0], Undef(const(0).dtype)))
    return _with_body(then(free, tiled(free.after.buffers[1], const(7))), program(text, TILED))


def declared(theorem: Refines, which: int, value: int) -> Refines | NoMatch | Unproved:
    return apply(PadValue(theorem.after.buffers[which], 0, const(value)), theorem, PROVER)


def test_each_parameter_has_padding_of_its_own() -> None:
    copied = both("B[2, 1] = C[2, 1]")
    for value in (7, 8):
        assert isinstance(declared(copied, 0, value), Refines) is (value == 7)
    found = declared(copied, 1, 7)
    assert isinstance(found, NoMatch) and found.reason == "that padding of C holds a value already"
    theorem = declared(copied, 0, 7)
    assert isinstance(theorem, Refines)
    assert [(p.buffer.name, p.value) for p in theorem.paddings] == [("C", const(7)), ("B", const(7))]
    assert [b.name for b in theorem.after.buffers] == ["B", "C"]


def test_padding_of_another_parameter_may_be_anywhere() -> None:
    """B[0, 0] is not padding of B, though C[0, 0] is padding of C that holds C[2, 2]."""
    start = reflexive(program("pass", PAIR), definite=True)
    start = then(start, tiled(start.after.buffers[0], None))
    c = start.after.buffers[1]
    x, p, q = (Var.fresh(name) for name in "xpq")
    columns = LayoutMap((x,), (x % 3, x // 3 + 1), (p, q), ((q - 1) * 3 + p,), (const(3), const(3)), FALSE)
    columns = replace(columns, padding=binary("or", q < 1, (q - 1) * 3 + p >= 5))
    start = then(start, Relayout(c, columns, None))
    b, c = start.after.buffers
    theorem = then(start, PadValue(c, 0, load(c, 0, 1)))
    then(theorem, PadValue(b, 0, load(b, 0, 0)))


def test_a_value_that_depends_on_the_place() -> None:
    theorem = padded("for y, z in T.grid(3, 2):\n    if y * 2 + z >= 5:\n        B[y, z] = y * 10 + z")
    y, z = theorem.paddings[0].indices
    holds("for y, z in T.grid(3, 2):\n    if y * 2 + z >= 5:\n        B[y, z] = y * 10 + z", const(21))
    then(theorem, PadValue(theorem.after.buffers[0], 0, y * 10 + z))
    assert "at the end (Refuted)" in reason(theorem, y * 10 + z + 1)


def test_scope_and_separators_stay() -> None:
    start = reflexive(program("pass", PAIR.replace('"int32")', '"int32", scope="shared")', 1)))
    old = start.after.buffers[0]
    layout = tiled(old, Undef(old.dtype))
    theorem = then(start, Relayout(old, layout.layout, Undef(old.dtype), (1,)))
    new = then(theorem, PadValue(theorem.after.buffers[0], 0, const(7))).after.buffers[0]
    assert (new.scope, new.axis_separators) == ("shared", (1,))


def test_a_value_may_mention_what_counts_elements() -> None:
    """m + 1 does not overflow, since an array had m elements, though no shape shows m any longer."""
    f = program(
        'm = T.int32()\nA = T.match_buffer(a, (m,), "int32")\nB[0] = 1', 'a: T.handle, B: T.Buffer((5,), "int32")'
    )
    m = f.buffers[0].shape[0]
    x, y = Var.fresh("x"), Var.fresh("y")
    wide = LayoutMap((x,), (x,), (y,), (y,), (const(FULL),), y >= m)
    hidden = then(reflexive(f), Relayout(f.buffers[0], wide, None))
    moved = then(hidden, tiled(hidden.after.buffers[1], Undef(const(0).dtype)))
    b = moved.after.buffers[1]
    then(moved, PadValue(b, 0, m + 1))
    assert "safety: m + 65536: no overflow" in reason_of(apply(PadValue(b, 0, m + 65536), moved, PROVER))


def reason_of(found: Refines | NoMatch | Unproved) -> str:
    assert not isinstance(found, Refines)
    return why(found)


def test_a_value_mentions_symbols_only() -> None:
    floats = 'B: T.Buffer((5,), "float32"), C: T.Buffer((5,), "float32"), r: T.float32'
    start = reflexive(program("pass", floats), definite=True)
    b = start.after.buffers[0]
    theorem = then(start, tiled(b, Undef(b.dtype)))
    r = theorem.after.params[-1]
    new = theorem.after.buffers[0]
    assert reason_of(apply(PadValue(new, 0, r), theorem, PROVER)) == "the padding's value mentions r"
    then(theorem, PadValue(new, 0, load(new, 0, 0)))
    assert theorem.paddings[0].predicate is not FALSE


def test_a_value_makes_no_opaque_call() -> None:
    start = reflexive(program("pass", PAIR), definite=True)
    old = start.after.buffers[0]
    theorem = then(start, tiled(old, Undef(old.dtype)))
    new = theorem.after.buffers[0]
    before, after = (Call(old.dtype, "call_extern", (StringImm("g"), x)) for x in (load(old, 0), load(new, 0, 0)))
    for found in (apply(tiled(old, before), start, PROVER), apply(PadValue(new, 0, after), theorem, PROVER)):
        assert reason_of(found) == "the result of the opaque call call_extern is unknown"


def test_padding_of_vectors() -> None:
    """Each lane of an element holds its lane of the value."""
    vectors = PAIR.replace("int32", "int32x4")
    start = reflexive(program("for i in range(5):\n    B[i] = C[i]", vectors))
    old = start.after.buffers[0]
    refuted = "padding: the padding of B holds its value at the end (Refuted)"
    assert reason_of(apply(tiled(old, load(old, 0)), start, PROVER)) == refuted
    free = then(start, tiled(old, Undef(old.dtype)))
    for value in (Broadcast(const(1), 4), load(free.after.buffers[0], 0, 1)):
        accepted = isinstance(apply(PadValue(free.after.buffers[0], 0, value), free, PROVER), Refines)
        assert accepted is isinstance(value, Broadcast)


@pytest.mark.parametrize("lanes", [2, 4])
def test_each_lane_of_the_padding_is_known(lanes: int) -> None:
    """The padding holds …, 5, 6, 7."""
    vectors = f'C: T.Buffer((5,), "int32x{lanes}"), D: T.Buffer((5,), "int32")'
    start = reflexive(program("D[0] = 7", vectors))
    theorem = then(start, tiled(start.after.buffers[0], Ramp(const(8 - lanes), const(1), lanes)))
    for k in range(lanes):
        element = Shuffle((load(theorem.after.buffers[0], 2, 1),), (k,))
        found = apply(rewritten((), (0,), element), theorem, PROVER)
        assert isinstance(found, Refines) is (k == lanes - 1)


def test_the_value_is_evaluated_where_padding_is() -> None:
    """``B[y - 2, 0]`` lies in B for the rows of the padding, and not for others."""
    theorem = padded("B[2, 1] = B[0, 0]")
    b, (y, _) = theorem.after.buffers[0], theorem.paddings[0].indices
    then(theorem, PadValue(b, 0, load(b, y - 2, 0)))
    assert "in bounds" in reason(theorem, load(b, y - 3, 0))


def test_nothing_is_said_where_a_value_that_reads_nothing_is_undefined() -> None:
    """The padding may be left free as it was; what reads memory has to be defined, whatever its bits are."""
    theorem = padded("B[0, 0] = 7")
    b, (y, z) = theorem.after.buffers[0], theorem.paddings[0].indices
    then(theorem, PadValue(b, 0, Undef(b.dtype)))
    then(theorem, PadValue(b, 0, Select(z < y, Undef(b.dtype), const(7))))
    copied = padded("B[2, 1] = C[0]")
    y, z = copied.paddings[0].indices
    then(copied, PadValue(copied.after.buffers[0], 0, Select(z < y, Undef(b.dtype), const(7))))
    assert "at the end (Refuted)" in reason(copied, Select(z > y, Undef(b.dtype), const(7)))
    zero = padded("B[2, 1] = 0\nB[0, 0] = T.undef('int32')")
    assert "at the end (Refuted)" in reason(zero, load(zero.after.buffers[0], 0, 0) * 0)
    known = padded("B[2, 1] = 0\nB[0, 0] = 5")
    then(known, PadValue(known.after.buffers[0], 0, load(known.after.buffers[0], 0, 0) * 0))
