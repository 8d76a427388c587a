"""Layouts, where it is tight: what moves with the elements, where φ is evaluated, and whose variables a map has."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.kernel.programs import (
    PROVER,
    accepted,
    body_of,
    buffer,
    compact,
    load,
    program,
    refused,
    store,
    variable,
    why,
)
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import FALSE, Expr, IfThenElse, Not, Select, Shuffle, Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import put
from verified_tir.ir.stmt import Assume, DeclBuffer
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.begin import LARGEST
from verified_tir.kernel.rules.axiom import Axiom
from verified_tir.kernel.rules.couple import Couple
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.relayout import Relayout
from verified_tir.kernel.theorem import Refines, Rule, apply, reflexive

x, y, z, p, q = (Var.fresh(name) for name in "xyzpq")
ABN = 'A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"), n: T.int32'
ALLOC = 't = T.alloc_buffer((4,), "int32")\n'
SAME = LayoutMap((x,), (x,), (y,), (y,), (const(4),), FALSE)
FIVE = LayoutMap((x,), (x,), (y,), (y,), (const(5),), binary("ge", y, 4))
DOUBLED = LayoutMap((x,), (x * 2,), (y,), (y // 2,), (const(8),), binary("ne", y % 2, 0))


def then(f: PrimFunc, *rules: Rule, definite: bool = False) -> Refines:
    theorem = reflexive(f, definite=definite)
    for rule in rules:
        new = apply(rule, theorem, PROVER)
        assert isinstance(new, Refines), why(new)
        theorem = new
    return theorem


# -- what a map is applied to ------------------------------------------------------------------------------------------


def test_scope_and_separators_stay() -> None:
    shared = 'A: T.Buffer((4,), "int32", scope="shared"), B: T.Buffer((4,), "int32")'
    f = program("B[0] = A[0]", shared)
    two = LayoutMap((x,), (x // 2, x % 2), (y, z), (y * 2 + z,), (const(2), const(2)), FALSE)
    moved = accepted(f, Relayout(buffer(f, "A"), two, None, (1,))).buffers[0]
    assert (moved.scope, moved.axis_separators) == ("shared", (1,))
    f = program('t = T.alloc_buffer((4,), "int32", scope="local")\nt[0] = 1\nB[0] = t[0]')
    moved = buffer(accepted(f, Couple((), two, separators=(1,))), "t")
    assert (moved.scope, moved.axis_separators) == ("local", (1,))
    assert buffer(accepted(f, compact((), (x,), (x,), (const(1),))), "t").scope == "local"


@pytest.mark.parametrize("rule", [Couple((0,), SAME), compact((0,), (x,), (x,), (const(4),))])
def test_a_buffer_is_used_by_loads_and_stores_only(rule: Rule) -> None:
    f = program("for i in range(1):\n    " + ALLOC + "    t[0] = 1\n    B[0] = t[0]")
    t = f.body.body.buffer  # type: ignore[attr-defined]
    again = f.with_body(put(f.body, (0, 0), DeclBuffer(t, f.body.body.body)))  # type: ignore[attr-defined]
    accepted(f, rule)
    refused(again, rule, "there is no theorem about the result: t is declared over t, which is not a block here")


def test_an_opaque_call_may_be_an_index_of_another_buffer() -> None:
    text = ALLOC + 't[0] = 1\n{}[T.call_extern("int32", "g")] = 2\nB[0] = t[0]'
    accepted(program(text.format("A")), Couple((), DOUBLED))
    refused(program(text.format("t")), Couple((), DOUBLED), "an opaque call is an index of t")


def test_lanes_of_the_last_index() -> None:
    f = program('t = T.alloc_buffer((2, 4), "int32")\nfor i in range(2):\n    t[i, 0:4] = A[0:4]\nB[0:4] = t[1, 0:4]')
    turned = LayoutMap((x, y), (1 - x, y), (p, q), (1 - p, q), (const(2), const(4)), FALSE)
    *_, loop, last = body_of(accepted(f, Couple((), turned))).splitlines()
    assert [loop, last] == [
        "    t[1 - i, 0:4] = A[T.Ramp(0, 1, 4)]",
        "B[0:4] = t[T.Sub(1, 1), T.Ramp(0, 1, 4)]",
    ]


def test_lanes_take_part_in_arithmetic_only() -> None:
    """``T.Shuffle([x, x + 1], [0])`` is x; of vectors it would be their first lane, and a condition for all lanes."""
    f = program(ALLOC + "for i in range(4):\n    t[i] = i\nB[0:4] = t[0:4]")
    first = Shuffle((x, x + 1), (0,))
    odd = Not(Shuffle((binary("ge", x, const(2)), binary("ge", x, const(3))), (0,)))
    for phi in (first, Select(odd, x, x + 0), IfThenElse(odd, x, x + 0), binary("add", first, const(0))):
        scalar = program(ALLOC + "t[2] = 1\nB[0] = t[2]")
        accepted(scalar, Couple((), replace(SAME, outputs=(phi,))))
        refused(f, Couple((), replace(SAME, outputs=(phi,))), "the map has no lanes here")


def test_lanes_run_over_an_index() -> None:
    """Two lanes of one element do not become a scalar: the third lane of the shuffle would be another one."""
    text = 't = T.alloc_buffer((1,), "int32")\nt[0] = 1\n'
    none = LayoutMap((x,), (), (), (const(0),), (), FALSE)
    accepted(program(text + "B[0] = t[0]"), Couple((), none))
    f = program(text + "B[0:2] = T.Shuffle([t[T.Broadcast(0, 2)], A[0:2]], [0, 2])")
    refused(f, Couple((), none), "the map has no lanes here")


# -- where it is evaluated ---------------------------------------------------------------------------------------------


def test_a_value_of_the_padding_is_safe_in_the_padding() -> None:
    f = program("B[0] = A[0]", ABN)
    a, n = buffer(f, "A"), variable(f, "n")
    accepted(f, Relayout(a, FIVE, 8 // y))  # y is 4 there
    refused(f, Relayout(a, FIVE, 8 // (y - 4)), "safety: 8 // (y - 4): no division by zero (Refuted)")
    refused(f, Relayout(a, FIVE, 8 // n), "safety: 8 // n: no division by zero (Refuted)")


def test_a_value_of_the_padding_is_of_the_type_of_the_elements() -> None:
    f = program("B[0] = A[0]", ABN + ", r: T.float32")
    a = buffer(f, "A")
    refused(
        f, Relayout(a, FIVE, Undef(DType.parse("float32"))), "the padding has type float32, the elements of A int32"
    )
    floats = program("B[0] = A[0]", (ABN + ", r: T.float32").replace("int32", "float32", 2))
    refused(floats, Relayout(buffer(floats, "A"), FIVE, variable(floats, "r")), "the padding's value mentions r")


def test_what_is_not_masked_lies_in_the_buffer() -> None:
    """n * 2 does not overflow where t[n] is an element.  Of other buffers nothing is asked at all."""
    accepted(program(ALLOC + "t[n] = 1\nB[0] = t[n]", ABN), Couple((), DOUBLED))
    other = "B[0:4] = A.vload([T.Ramp({0}, 1, 4)], predicate=T.Ramp({0}, 1, 4) < T.Broadcast(4, 4))"
    accepted(program(ALLOC + other.format("n * 2"), ABN), Couple((), DOUBLED))


def test_of_what_else_is_evaluated_nothing_is_asked() -> None:
    """B[u[0]] is in bounds; whoever asks what a whole statement evaluates does not know, since it writes u, too."""
    text = ALLOC + 'u = T.alloc_buffer((1,), "int32")\nu[0] = 0\nB[u[0]] = 1\n'
    masked = "B[0:4] = t.vload([T.Ramp(0, 1, 4)], predicate=T.Ramp(0, 1, 4) < T.Broadcast(3, 4))"
    accepted(program(text + masked), Couple((), DOUBLED))


COUNTED = "for i in range((m + 3) // 4):\n    C[0:4] = {}.vload([T.Ramp(i * 4, 1, 4)], predicate={})"
MASK = "T.Ramp(i * 4, 1, 4) < T.Broadcast(m, 4)"
FULL = LARGEST[32]


def counted(name: str) -> tuple[PrimFunc, Relayout, Relayout]:
    """A program that reads m elements; two layouts after which no shape shows m: of A, one place on, and of B."""
    f = program(
        'm = T.int32()\nA = T.match_buffer(a, (m,), "int8")\nB = T.match_buffer(b, (m,), "int8")\n'
        + COUNTED.format(name, MASK),
        'a: T.handle, b: T.handle, C: T.Buffer((4,), "int8")',
    )
    a, b = f.buffers[:2]
    m = a.shape[0]
    on = LayoutMap((x,), (x + 1,), (y,), (y - 1,), (const(FULL + 1),), binary("or", y < 1, y > m))
    same = LayoutMap((p,), (p,), (q,), (q,), (const(FULL),), q >= m)
    return f, Relayout(a, on, None), Relayout(b, same, None)


def test_an_extent_of_an_array_stays_one() -> None:
    """That x + 1 does not overflow in masked lanes rests on how many elements an array has at most."""
    f, on, same = counted("A")
    shown = then(f, on)
    assert [v.name for v in shown.after.params] == ["a", "b", "C"]  # B shows m
    last = then(f, same, on)
    assert [v.name for v in last.after.params] == ["a", "b", "C", "m"]
    alone = program('m = T.int32()\nA = T.match_buffer(a, (m,), "int8")\n' + COUNTED.format("A", MASK),
                    'a: T.handle, C: T.Buffer((4,), "int8")')  # fmt: skip
    a = alone.buffers[0]
    padding = binary("or", y < 1, y > a.shape[0])
    assert [v.name for v in then(alone, Relayout(a, replace(on.layout, padding=padding), None)).after.params] == [
        "a", "C", "m",
    ]  # fmt: skip


def test_an_extent_of_an_array_that_no_shape_shows_any_longer() -> None:
    """The layout of A changed before: that m counts its elements still bounds the lanes that are read of B."""
    f = program(
        f'm = T.int32()\nA = T.match_buffer(a, (m,), "int8")\n{COUNTED.format("B", MASK)}',
        f'a: T.handle, B: T.Buffer(({FULL},), "int8"), C: T.Buffer((4,), "int8")',
    )
    a, b = f.buffers[:2]
    same = LayoutMap((p,), (p,), (q,), (q,), (const(FULL),), q >= a.shape[0])
    on = LayoutMap((x,), (x + 1,), (y,), (y - 1,), (const(FULL + 1),), y < 1)
    assert [v.name for v in then(f, Relayout(a, same, None), Relayout(b, on, None)).after.params] == [
        "a",
        "B",
        "C",
        "m",
    ]
    free = program(COUNTED.format("B", MASK), f'B: T.Buffer(({FULL},), "int8"), C: T.Buffer((4,), "int8"), m: T.int32')
    refused(free, Relayout(free.buffers[0], on, None), "no overflow (Refuted)")


def test_what_is_only_read_is_moved_too() -> None:
    moved = body_of(
        accepted(program(ALLOC + "B[0] = t[1]"), compact((), (x,), (x - 1,), (const(1),), lambda y: (y + 1,)))
    )
    assert moved == 't = T.alloc_buffer((1,), "int32")\nB[0] = t[T.Sub(1, 1)]'


# -- symbols -----------------------------------------------------------------------------------------------------------

SYMBOL = 'a: T.handle, B: T.Buffer((4,), "int32")'
MATCHED = 'm = T.int32()\nA = T.match_buffer(a, (m,), "int32")\n'


def rows(m: Expr) -> LayoutMap:
    return LayoutMap((x,), (x // 4, x % 4), (y, z), (y * 4 + z,), ((m + 3) // 4, const(4)), y * 4 + z >= m)


def parameters(f: PrimFunc, layout: LayoutMap) -> list[str]:
    return [v.name for v in accepted(f, Relayout(f.buffers[0], layout, None)).params]


def test_a_symbol_that_is_still_needed_becomes_a_parameter() -> None:
    largest = LayoutMap((x,), (x,), (y,), (y,), (const(FULL),), FALSE)
    f = program(MATCHED + "B[0] = 1", SYMBOL)
    m = f.buffers[0].shape[0]
    assert parameters(f, rows(m)) == ["a", "B", "m"]  # the new shape needs it
    assert parameters(f, replace(largest, padding=y >= m)) == ["a", "B", "m"]  # the padding does
    f = program(MATCHED + "B[0] = m", SYMBOL)
    assert parameters(f, replace(largest, padding=y >= f.buffers[0].shape[0])) == ["a", "B", "m"]  # the body does
    f = program('A = T.match_buffer(a, (m,), "int32")\nB[0] = m', SYMBOL + ", m: T.int32")
    assert parameters(f, rows(variable(f, "m"))) == ["a", "B", "m"]  # it is one already
    f = program('m = T.int32()\nA = T.match_buffer(a, (m,), "int32")\nB = T.match_buffer(b, (m,), "int32")\nB[0] = m',
                "a: T.handle, b: T.handle")  # fmt: skip
    assert parameters(f, rows(f.buffers[0].shape[0])) == ["a", "b"]  # B shows it


def test_nothing_is_assumed_of_a_symbol_that_is_gone() -> None:
    """Where A starts in its block the new layout does not say."""
    f = program('o = T.int32()\nA = T.match_buffer(a, (4,), "int32", elem_offset=o)\nB[0] = A[1]', SYMBOL)
    o = f.buffers[0].elem_offset
    moved = then(f, Relayout(f.buffers[0], SAME, None))
    gone = apply(Axiom(Assume(o >= 4)), moved, PROVER)
    assert not isinstance(gone, Refines)
    assert why(gone) == "there is no theorem about the result: variable o is not in scope here"


# -- padding of earlier layouts ----------------------------------------------------------------------------------------


def test_earlier_padding_moves_along() -> None:
    """A[2, 1] holds 5; then rows and columns change places, and it is A[1, 2] that does."""
    f = program("A[0] = 1\nB[0] = 1", 'A: T.Buffer((5,), "int32"), B: T.Buffer((5,), "int32")')
    pairs = LayoutMap((x,), (x // 2, x % 2), (y, z), (y * 2 + z,), (const(3), const(2)), y * 2 + z >= 5)
    tiled = then(f, Relayout(buffer(f, "A"), pairs, y * 2 + z), Relayout(buffer(f, "B"), pairs, const(7)))
    turned = LayoutMap((x, y), (y, x), (p, q), (q, p), (const(2), const(3)), FALSE)
    theorem = apply(Relayout(tiled.after.buffers[0], turned, None), tiled, PROVER)
    assert isinstance(theorem, Refines), why(theorem)
    a, b = theorem.after.buffers
    assert sorted(w.buffer.name for w in theorem.paddings) == ["A", "A", "B"]

    def holds(*element: int, value: int, of: object = a) -> bool:
        return isinstance(apply(Insert((0,), store(of, value, *element)), theorem, PROVER), Refines)  # type: ignore[arg-type]

    assert holds(1, 2, value=5) and holds(2, 1, value=7, of=b)
    assert not holds(1, 2, value=7) and not holds(0, 2, value=5) and not holds(1, 1, value=5)
    assert not holds(2, 1, value=5, of=b)


def test_earlier_padding_that_reads_an_element() -> None:
    f = program("B[0] = A[0]", 'A: T.Buffer((5,), "int32"), B: T.Buffer((4,), "int32")')
    pairs = LayoutMap((x,), (x // 2, x % 2), (y, z), (y * 2 + z,), (const(3), const(2)), y * 2 + z >= 5)
    a = buffer(f, "A")
    tiled = then(f, Relayout(a, pairs, load(a, y - 2)), definite=True)
    turned = LayoutMap((x, y), (y, x), (p, q), (q, p), (const(2), const(3)), FALSE)
    theorem = apply(Relayout(tiled.after.buffers[0], turned, None), tiled, PROVER)
    assert isinstance(theorem, Refines), why(theorem)
    values = [w.value for w in theorem.paddings if w.value is not None]
    assert len(values) == 1 and "[(q - 2) % 2, (q - 2) // 2]" in str_of(values[0])


def str_of(e: Expr) -> str:
    from verified_tir.ir.script import script

    return script(e)


# -- whose variables they are ------------------------------------------------------------------------------------------


def test_a_map_has_variables_of_its_own() -> None:
    f = program('for i in range(4):\n    t = T.alloc_buffer((i + 1,), "int32")\n    t[i] = 1\n    B[i] = t[i]')
    i = variable(f, "i")
    accepted(f, Couple((0,), LayoutMap((x,), (x,), (y,), (y,), (i + 1,), FALSE)))
    for own in (LayoutMap((x,), (x,), (i,), (i,), (i + 1,), FALSE), LayoutMap((i,), (i,), (y,), (y,), (i + 1,), FALSE)):
        refused(f, Couple((0,), own), "the map's variable i is one of the program")
