"""Padding that was free is declared to hold a value, which the program leaves there."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tests.kernel.programs import PROVER, body_of, load, program, store, variable, why
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Call, Expr, FloatImm, LetExpr, Load, Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.obligation import NoMatch, Unproved
from verified_tir.kernel.refines import _made, statement_of
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.padding import PadValue
from verified_tir.kernel.rules.relayout import Relayout
from verified_tir.kernel.theorem import Refines, apply, reflexive

PARAMS = 'B: T.Buffer((5,), "{0}"), C: T.Buffer((5,), "{0}"), n: T.int32'
READ = "the padding of B is read from no padding that is undefined, or read itself (Refuted)"
STAGE = "for y, z in T.grid(3, 2):\n    if y * 2 + z >= 5:\n        B[y, z] = {}\n"


def tiled(b: Buffer, pad: Expr | None) -> Relayout:
    """``i -> [i // 2, i % 2]`` for five elements: the padding is ``[2, 1]``."""
    x, y, z = (Var.fresh(name) for name in "xyz")
    element = binary("add", y * 2, z)
    layout = LayoutMap((x,), (x // 2, x % 2), (y, z), (element,), (const(3), const(2)), element >= 5)
    return Relayout(b, layout, pad)


def padded(text: str, dtype: str = "int32", pad: str = "undef") -> Refines:
    """``text`` with ``B`` in tiles of two already: the same program, written before the layout changed."""
    before = program("pass", PARAMS.format(dtype))
    free = Undef(before.buffers[0].dtype) if pad == "undef" else None
    moved = apply(tiled(before.buffers[0], free), reflexive(before, definite=True), PROVER)
    assert isinstance(moved, Refines)
    return _with_body(moved, program(text, PARAMS.format(dtype).replace("(5,)", "(3, 2)", 1)))


def _with_body(theorem: Refines, other: PrimFunc) -> Refines:
    """The theorem's program with another body: what the rule is asked about is its last program alone."""
    from verified_tir.ir.find import substitute_buffers
    from verified_tir.ir.visit import substitute

    after = theorem.after
    buffers = dict(zip(other.buffers, after.buffers, strict=True))
    scalars = {a: b for a, b in zip(other.params, after.params, strict=True) if other.buffer_of(a) is None}
    blocks = {a.data: b.data for a, b in buffers.items()}
    body = substitute_buffers(substitute(other.body, {**scalars, **blocks}), _views(buffers))
    return _made(replace(statement_of(theorem), after=after.with_body(body)))


def _views(buffers: dict[Buffer, Buffer]) -> dict[Buffer, Buffer]:
    """Substitution has given the parameters' own buffers new blocks already; those go, views of them stay."""
    return {a.with_data(b.data): b for a, b in buffers.items()}


def declared(theorem: Refines, value: Expr, position: int = 0) -> Refines | NoMatch | Unproved:
    return apply(PadValue(theorem.after.buffers[0], position, value), theorem, PROVER)


def first(theorem: Refines) -> Load:
    return load(theorem.after.buffers[0], 0, 0)


def holds(text: str, value: Expr | None = None, dtype: str = "int32", pad: str = "undef") -> Refines:
    """Accepted, of ``B[0, 0]`` unless a value is given."""
    theorem = padded(text, dtype, pad)
    found = declared(theorem, first(theorem) if value is None else value)
    assert isinstance(found, Refines), why(found)
    return found


def fails(text: str, value: Expr | None = None, dtype: str = "int32", pad: str = "undef") -> None:
    """Refuted, since it does not stand there at the end."""
    theorem = padded(text, dtype, pad)
    found = declared(theorem, first(theorem) if value is None else value)
    assert isinstance(found, Unproved) and found.obligation.name == "padding", found
    assert found.obligation.claim == "the padding of B holds its value at the end"


WRITES = "for i in range(5):\n    B[i // 2, i % 2] = C[i]\n"


def test_a_program_that_writes_it_last() -> None:
    theorem = holds(WRITES + STAGE.format("B[0, 0]"))
    (padding,) = theorem.paddings
    assert isinstance(padding.value, Load) and padding.value.buffer is theorem.after.buffers[0]
    assert theorem.relation[-1].paddings == theorem.paddings
    assert body_of(theorem.after) == body_of(padded(WRITES + STAGE.format("B[0, 0]")).after)


@pytest.mark.parametrize("pad", ["undef", "none"])
def test_a_constant_where_nobody_writes(pad: str) -> None:
    """It held that value at entry, by the new relation, and nobody touched it."""
    holds(WRITES, const(7), pad=pad)
    holds("C[0] = 1", const(7), pad=pad)
    holds("for i in range(5):\n    B[(i + 1) // 2 % 2, 0] = C[i]", const(7), pad=pad)


def test_what_is_read_may_not_change_afterwards() -> None:
    holds("C[0] = 1")  # the same element, before and after
    fails(WRITES)
    fails(STAGE.format("B[0, 0]") + WRITES)
    fails(WRITES + STAGE.format("B[0, 0]") + "B[0, 0] = B[0, 0] + 1")
    holds(WRITES + STAGE.format("B[0, 0]") + "B[0, 1] = B[0, 0] + 1")


def test_the_padding_may_not_change_afterwards() -> None:
    fails(WRITES + STAGE.format("B[0, 0]") + "B[2, 1] = 3")
    fails(WRITES + STAGE.format("B[0, 0]") + "if n > 3:\n    B[2, 1] = 3")
    fails(WRITES + STAGE.format("B[0, 0]") + "for i in range(n):\n    B[2, i] = 3")


def test_it_must_be_written_on_every_way() -> None:
    fails(WRITES + "if n > 3:\n" + "".join(f"    {line}\n" for line in STAGE.format("B[0, 0]").splitlines()))
    fails(WRITES + "for k in range(n):\n" + "".join(f"    {s}\n" for s in STAGE.format("B[0, 0]").splitlines()))
    fails(WRITES + STAGE.format("B[0, 0]").replace("T.grid(3, 2)", "T.grid(n, 2)"))
    fails(WRITES + STAGE.format("B[0, 0]").replace("T.grid(3, 2)", "T.grid(2, 2)"))


def test_it_must_be_the_same_value() -> None:
    fails(WRITES + STAGE.format("B[0, 1]"))
    fails(WRITES + STAGE.format("B[0, 0] + 1"))
    fails(WRITES + STAGE.format("4"), const(5))
    holds(WRITES + STAGE.format("4"), const(4))


def test_undef_is_no_value() -> None:
    fails(WRITES + STAGE.format('T.undef("int32")'), const(5))
    fails(WRITES + STAGE.format('T.Select(n > 3, 5, T.undef("int32"))'), const(5))
    fails(WRITES + STAGE.format("B[2, 1] * 0"), const(0))  # 0 whatever was there, if anything was


def test_the_bits_count() -> None:
    zero, minus, nan = (FloatImm(const(0.0, "float32").dtype, x) for x in (0.0, -0.0, math.nan))
    holds(STAGE.format("T.float32(0)"), zero, "float32")
    fails(STAGE.format("T.float32(-0.0)"), zero, "float32")
    fails(STAGE.format("T.float32(0)"), minus, "float32")
    holds(STAGE.format("T.float32('nan')"), nan, "float32")
    fails(STAGE.format("C[0] * T.float32(0)"), zero, "float32")


def test_while_loops_and_assertions() -> None:
    """Where the run ends otherwise nothing is owed; what a loop leaves is not known."""
    holds(WRITES + 'assert n > 3, "text"\n' + STAGE.format("B[0, 0]"))
    fails(WRITES + STAGE.format("B[0, 0]") + "while B[0, 0] > 3:\n    B[0, 0] = B[0, 0] - 1")


def test_within_an_allocation() -> None:
    inside = "t = T.alloc_buffer((5,), '{}')\nfor i in range(5):\n    t[i] = C[i]\n".format("int32")
    holds(inside + "for i in range(5):\n    B[i // 2, i % 2] = t[i]\n" + STAGE.format("B[0, 0]"))


def test_padding_that_may_not_be_touched_keeps_what_it_holds() -> None:
    """A value that is read from the buffer is the same at the end if what it reads was not written."""
    holds("C[0] = B[0, 0]", pad="none")
    holds("B[1, 0] = 3", pad="none")
    fails("B[0, 0] = 3", pad="none")
    fails("for i in range(5):\n    B[i // 2, i % 2] = n", pad="none")


@pytest.mark.parametrize("pad", ["undef", "none"])
def test_what_is_owed_is_written_by_somebody(pad: str) -> None:
    """Nothing is supposed of it at entry: left alone it holds anything."""
    theorem = padded("C[0] = 1", pad=pad)
    found = apply(PadValue(theorem.after.buffers[0], 0, const(7), owed=True), theorem, PROVER)
    assert isinstance(found, Unproved)
    assert found.obligation.claim == "the padding of B holds its value at the end"


def test_the_program_stays_as_it_is() -> None:
    before = padded("C[0] = 1")
    theorem = declared(before, const(7))
    assert isinstance(theorem, Refines) and theorem.after is before.after
    assert theorem.relation[-1].before is theorem.relation[-1].after is before.after.buffers[0]


def reason(theorem: Refines, value: Expr, position: int = 0) -> str:
    found = declared(theorem, value, position)
    assert not isinstance(found, Refines)
    return why(found)


def test_what_is_no_value_for_it() -> None:
    theorem = padded(WRITES)
    b, c = theorem.after.buffers
    assert "mentions C" in reason(theorem, load(c, 0))
    assert "mentions k" in reason(theorem, Var.fresh("k"))
    n = variable(theorem.after, "n")  # of the size n, and of a variable of that name: an index 2 * n would be both
    assert "mentions n" in reason(theorem, LetExpr(n, const(5), n))
    assert "has type float32" in reason(theorem, const(1.0, "float32"))
    assert "opaque call" in reason(theorem, Call(b.dtype, "unknown", ()))
    same_block = Buffer.declare("B", (2, 3), "int32", data=b.data)
    assert "mentions B" in reason(theorem, load(same_block, 0, 0))
    assert "not a parameter with that padding" in reason(theorem, const(1), 1)
    assert "safety: B[3, 0]: in bounds" in reason(theorem, load(b, 3, 0))
    assert "no division by zero" in reason(theorem, binary("floordiv", load(b, 0, 0), load(b, 0, 1)))
    assert "a divisor that is undef" in reason(theorem, binary("floordiv", load(b, 0, 0), load(b, 2, 1)))


def test_forbidden_padding_is_not_read() -> None:
    """Free padding on the left of every row; the element at [2, 2] is padding of the first layout, and forbidden."""
    theorem = padded("C[0] = 1", pad="none")
    moved = _shifted(theorem)
    b = moved.after.buffers[0]
    assert "accessible" in reason(moved, load(b, 2, 2))
    found = declared(moved, load(b, 2, 1))
    assert isinstance(found, Refines)
    assert [v if v is None else type(v) for v in (p.value for p in found.paddings)] == [Load, None]


def test_padding_is_not_read_from_itself() -> None:
    """No memory would have it: ``B[2, 1] == B[2, 1] + 1``.  Nor in a circle, by way of another padding."""
    theorem = padded("C[0] = 1")
    b = theorem.after.buffers[0]
    assert READ in reason(theorem, load(b, 2, 1) + 1)
    assert READ in reason(theorem, load(b, 2, 1))
    assert READ in reason(theorem, load(b, 0, 0) + load(b, 2, 1))
    moved = _shifted(theorem)
    assert [v is None or isinstance(v, Undef) for v in (w.value for w in moved.paddings)] == [True, True]
    old = declared(moved, load(moved.after.buffers[0], 1, 1), 1)  # of the first layout
    assert isinstance(old, Refines), why(old)
    assert READ in reason(old, load(old.after.buffers[0], 2, 2) + 1, 0)
    assert isinstance(declared(old, load(old.after.buffers[0], 1, 1), 0), Refines)


def _shifted(theorem: Refines) -> Refines:
    """Free padding on the left of every row: a second padding."""
    x, y, p, q = (Var.fresh(name) for name in "xypq")
    shifted = LayoutMap((x, y), (x, y + 1), (p, q), (p, q - 1), (const(3), const(3)), q < 1)
    b = theorem.after.buffers[0]
    moved = apply(Relayout(b, shifted, Undef(b.dtype)), theorem, PROVER)
    assert isinstance(moved, Refines), why(moved)
    return moved


def test_padding_is_not_read_from_padding_that_gets_its_value_later() -> None:
    """While ``B[0, 0]`` is undefined nothing is said of ``B[2, 2] == B[0, 0]``.  Then B[0, 0] would be written and
    declared to hold B[0, 1], before and after, which the program changes; and B[2, 2] holds what it held."""
    moved = _shifted(padded("B[0, 0] = C[0]"))
    b = moved.after.buffers[0]
    assert READ in reason(moved, load(b, 0, 0), 1)
    written = apply(Insert((), store(b, load(b, 0, 1), 0, 0), "after"), moved, PROVER)
    assert isinstance(written, Refines), why(written)
    assert READ in reason(written, load(b, 0, 0), 1)
    constant = declared(moved, const(7))
    assert isinstance(constant, Refines)
    assert isinstance(declared(constant, load(b, 0, 0), 1), Refines)  # 7 it is and remains


def test_what_padding_reads_is_defined_at_the_end() -> None:
    """Of ``B[2, 1] == B[0, 0]`` nothing is said while B[0, 0] is undefined.  But a later step may fill it."""
    fails('B[0, 0] = T.undef("int32")')
    fails('B[0, 0] = T.undef("int32") * 0\n' + STAGE.format("0"))
    holds("B[0, 0] = 0\n" + STAGE.format("0"))


def test_it_is_declared_once() -> None:
    theorem = holds("C[0] = 1", const(7))
    assert "holds a value already" in reason(theorem, const(8))


def test_views_and_calls() -> None:
    """What is written through a view counts; what an opaque call leaves is unknown, even of what it may not touch."""
    view = "V = T.decl_buffer((6,), 'int32', data=B.data)\n"
    holds(view + "V[5] = 1", const(1))
    fails(view + "V[5] = 1", const(2))
    for pad in ("undef", "none"):
        fails(view + "V[0] = 1", pad=pad)
        fails("T.evaluate(T.call_extern('void', 'elsewhere', B.data))", const(1), pad=pad)
    holds(view + "V[1] = 1", const(7), pad="none")


def test_what_may_not_be_touched_may_become_free() -> None:
    """Where the value is undefined nothing is said; the program writes there afterwards."""
    theorem = padded("B[0, 0] = 1", pad="none")
    b = theorem.after.buffers[0]
    write = Insert((), store(b, 7, 2, 1), "after")
    assert not isinstance(apply(write, theorem, PROVER), Refines)
    free = declared(theorem, Undef(b.dtype))
    assert isinstance(free, Refines)
    written = apply(write, free, PROVER)
    assert isinstance(written, Refines), why(written)
    assert "at the end (Refuted)" in reason(written, const(8))
    assert isinstance(declared(written, const(7)), Refines)


def test_what_is_undefined_holds_no_value() -> None:
    """Nothing times 0 has the value 0 in the logic, and is undefined all the same."""
    holds(STAGE.format("0"), const(0))
    fails(STAGE.format('T.undef(dtype="int32") * 0'), const(0))


@pytest.mark.parametrize("owed", [True, False])
def test_what_the_value_reads_is_defined_at_the_end(*, owed: bool) -> None:
    """Nothing would be said of the padding, and then the store of undef would be erased: it is not what B[0, 0] is."""
    theorem = padded("B[0, 0] = T.undef('int32')\nB[2, 1] = 7")
    b = theorem.after.buffers[0]
    found = apply(PadValue(b, 0, first(theorem), owed), theorem, PROVER)
    assert isinstance(found, Unproved) and found.obligation.name == "padding"
    theorem = padded("B[0, 0] = 7\nB[2, 1] = 7")
    found = apply(PadValue(theorem.after.buffers[0], 0, first(theorem), owed), theorem, PROVER)
    assert isinstance(found, Refines), why(found)


@pytest.mark.parametrize("definite", [True, False])
def test_what_the_value_of_untouched_padding_reads_is_defined(*, definite: bool) -> None:
    """A later step may store anything where nothing is defined, and the padding stays what it was."""
    f = program("C[0] = 1", PARAMS.format("int32"))
    found = apply(tiled(f.buffers[0], load(f.buffers[0], 0)), reflexive(f, definite=definite), PROVER)
    assert isinstance(found, Refines) is definite
