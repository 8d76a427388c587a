"""The terms of a reduction are summed in groups, or in another order."""

from __future__ import annotations

import pytest

from tests.kernel.faults import instances_share_loads, stores_change_nothing
from tests.kernel.programs import (
    PROVER,
    accepted,
    body_of,
    gives,
    licensed_for,
    load,
    program,
    refused,
    steps,
    variable,
)
from tests.kernel.programs import buffer as buffer_of
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import DType
from verified_tir.ir.expr import Expr, Load, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path, at
from verified_tir.ir.stmt import For, Store
from verified_tir.ir.sugar import const
from verified_tir.ir.visit import walk
from verified_tir.kernel.facts import Prover
from verified_tir.kernel.rules.reassociate import Reassociate
from verified_tir.kernel.theorem import Refines, apply, licensed, reflexive, without_licence
from verified_tir.logic.solver import Solver
from verified_tir.schedule import moves
from verified_tir.schedule.moves import NewLoop
from verified_tir.schedule.rule_builders import RuleBuilder

AB = 'A: T.Buffer((10,), "{0}"), B: T.Buffer((4,), "{0}"), n: T.int32'
SUM = "for k in range(10):\n    if A[k] > 0:\n        B[2] = B[2] {} A[k]"


def summed(op: str = "+", dtype: str = "int32") -> PrimFunc:
    zero = "0" if "int" in dtype else "0.0"
    text = SUM.format(op).replace("> 0", f"> {zero}")
    return program(text, AB.format(dtype))


def partial(dtype: str = "int32", extent: int = 3) -> Buffer:
    return Buffer.declare("P", (extent,), dtype)


def test_an_integer_sum() -> None:
    f = summed()
    k = variable(f, "k")
    done = steps(f, Reassociate((), partial(), (k % 3,)))
    assert done.reassociated == frozenset()
    assert body_of(done.after) == (
        'P = T.alloc_buffer((3,), "int32")\nfor j0 in range(3):\n    P[j0] = 0\n'
        "for k in range(10):\n    if A[k] > 0:\n        P[k % 3] = P[k % 3] + A[k]\n"
        "for j0 in range(3):\n    B[2] = B[2] + P[j0]"
    )
    refused(f, Reassociate((), partial(), (k % 4,)), "every term goes to one of the partial results of P (Refuted)")
    refused(f, Reassociate((), partial(), (k - 1,)), "every term goes to one")
    refused(f, Reassociate((), partial(), (10 // (k - 3),)), "(Refuted)")


def test_floats_need_a_licence() -> None:
    f = summed("+", "float32")
    k = variable(f, "k")
    rule = Reassociate((), partial("float32"), (k % 3,))
    refused(f, rule, "the sum of float32 into B has the same bits in any order (Refuted)")
    assert licensed_for(f, "B").reassociated == frozenset()
    done = steps(licensed_for(f, "B"), rule)
    assert done.reassociated == {buffer_of(f, "B").data}
    assert "P[j0] = T.float32(-0.0)" in body_of(done.after)


def test_a_licence_is_about_one_buffer() -> None:
    """A theorem names the blocks whose bits may differ; with another one it would hide a sum."""
    words = "the sum of float32 into B has the same bits in any order (Refuted)"
    f = summed("+", "float32")
    k = variable(f, "k")
    refused(licensed_for(f, "A"), Reassociate((), partial("float32"), (k % 3,)), words)
    refused(licensed_for(f, "A"), backwards(f, ()), words)
    accepted(licensed_for(f, "B"), backwards(f, ()))
    accepted(licensed_for(f, "A", "B"), backwards(f, ()))
    exact = summed()
    accepted(licensed_for(exact, "A"), backwards(exact, ()))


@pytest.mark.parametrize("name", ["P", "B", "k"])
def test_a_licence_is_about_a_block_of_the_program(name: str) -> None:
    """Whatever it is called; that of partial results is none of it."""
    f = summed("+", "float32")
    block = variable(f, "k") if name == "k" else Buffer.declare(name, (4,), "float32").data
    with pytest.raises(TypeError, match="about blocks of the program that the theorem begins with"):
        licensed(reflexive(f), frozenset({block}), PROVER)


def test_the_partial_results_are_licensed_with_the_result() -> None:
    """And nothing is, once the licence was given up; a later one proves the steps again."""
    f = program("for k in range(10):\n    B[2] = B[2] + A[k]", AB.format("float32"))
    first = steps(licensed_for(f, "B"), Reassociate((), p := partial("float32"), (variable(f, "k") % 3,)))
    again = Reassociate((0, 1), Buffer.declare("Q", (3, 2), "float32"), (variable(f, "k") % 3, variable(f, "k") // 9),
                        (y := Var.fresh("y"), z := Var.fresh("z")), (y,))  # fmt: skip
    assert z is not y and p.data in first.licensed
    assert steps(first, again).reassociated == {buffer_of(f, "B").data}
    without = without_licence(first)
    assert without.reassociated == first.reassociated and without.licensed == frozenset()
    refused(without, again, "the sum of float32 into P has the same bits in any order (Refuted)")
    assert steps(licensed_for(without, "B"), again).reassociated == first.reassociated


def test_no_word_says_nothing_about_a_buffer_without_a_name() -> None:
    b = Buffer.declare("", (4,), "float32")
    k = Var.fresh("k")
    update = Store(b, load(b, 2) + const(1.0, b.dtype), (const(2),))
    handle = Var.fresh("b", DType.parse("handle"))
    f = PrimFunc("f", (handle,), ((handle, b),), For(k, const(0), const(10), update))
    refused(f, backwards(f, ()), "has the same bits in any order (Refuted)")


@pytest.mark.parametrize(
    ("value", "dtype", "identity"),
    [
        ("B[2] * A[k]", "uint8", "T.uint8(1)"),
        ("T.max(B[2], A[k])", "int8", "T.int8(-128)"),
        ("T.min(A[k], B[2])", "int16", "T.int16(32767)"),
        ("B[2] & A[k]", "uint8", "T.uint8(255)"),
        ("B[2] ^ A[k]", "int32", "0"),
        ("B[2] - A[k]", "int32", None),
        ("A[k] // B[2]", "int32", None),
        ("T.max(B[2], A[k])", "float32", None),
        ("B[2] + A[k] + A[0]", "int32", None),
        ("B[1] + A[k]", "int32", None),
        ("B[2] + B[2]", "int32", None),
    ],
)
def test_operations(value: str, dtype: str, identity: str | None) -> None:
    f = program(f"for k in range(10):\n    B[2] = {value}", AB.format(dtype))
    rule = Reassociate((), partial(dtype), (variable(f, "k") % 3,))
    start = licensed_for(f, "B") if dtype == "float32" else f
    if identity is None:
        refused(start, rule, "")
    else:
        assert f"P[j0] = {identity}\n" in body_of(accepted(start, rule))


@pytest.mark.parametrize(("op", "identity"), [("max", 'T.float32("-inf")'), ("min", 'T.float32("inf")')])
def test_the_least_and_greatest_of_floats_may_be_infinite(op: str, identity: str) -> None:
    text = f'B[2] = {identity}\nfor k in range(10):\n    B[2] = T.{op}(B[2], T.Cast("float32", C[k]))'
    f = program(text, AB.format("float32") + ', C: T.Buffer((10,), "int32")')
    rule = Reassociate((1,), partial("float32"), (variable(f, "k") % 3,))
    assert f"P[j0] = {identity}\n" in body_of(accepted(licensed_for(f, "B"), rule))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("for k in range(4):\n    B[k] = B[k] + A[k]", "k is not in scope here"),
        ("for k in range(4):\n    if B[0] > 3:\n        B[2] = B[2] + A[k]", "is read in the nest other than"),
        ("for k in range(4):\n    B[2] = B[2] + A[B[2]]", "is read in the nest other than"),
        ("for k in range(4):\n    B[2] = B[2] + A[k]\n    B[1] = 0", "not a nest of loops around one store"),
        ("B[2] = B[2] + A[3]", "every term goes to one of the partial results of P"),
        ("for k in range(n):\n    B[n] = B[n] + 1", "in bounds (Refuted)"),
        ('for k in range(4):\n    B[2] = B[2] + T.call_extern("int32", "next")', "opaque call"),
    ],
)
def test_what_is_no_reduction(text: str, reason: str) -> None:
    f = program(text, AB.format("int32"))
    if "n" in text.split(":", maxsplit=1)[0]:
        text = text.replace("range(n)", "range(T.max(0, T.min(n, 3) - T.max(n, 3)))")
        f = program(text, AB.format("int32"))  # B[n] is touched where the loop makes no iteration
    ks = [n for n in walk(f) if getattr(n, "name", None) == "k"]
    rule = Reassociate((), partial(), ((ks[0] % 3) if ks else variable(f, "n"),))  # type: ignore[operator]
    refused(f, rule, reason)


def test_aliases_count() -> None:
    text = 'V = T.decl_buffer((4,), "int32", data=B.data)\nfor k in range(4):\n    B[2] = B[2] + V[k]'
    f = program(text, AB.format("int32"))
    refused(f, Reassociate((0,), partial(), (variable(f, "k") % 3,)), "is read in the nest other than")


def test_nests() -> None:
    f = program(
        "for i in range(4):\n    for k, l in T.grid(3, 2):\n        B[i] = B[i] + A[k * 2 + l]", AB.format("int32")
    )
    k, l = variable(f, "k"), variable(f, "l")
    accepted(f, Reassociate((0,), Buffer.declare("P", (3, 2), "int32"), (k, l)))
    accepted(f, Reassociate((0, 0), Buffer.declare("P", (2,), "int32"), (l,)))
    refused(f, Reassociate((), Buffer.declare("P", (2,), "int32"), (l,)), "i is not in scope here")
    refused(f, Reassociate((0,), Buffer.declare("P", (2,), "int64"), (l,)), "must have the type of B")
    reads = tuple(n for n in walk(f) if isinstance(n, Load) and n.buffer.name == "A")
    refused(f, Reassociate((0,), Buffer.declare("P", (2,), "int32"), reads), "A[k * 2 + l] is defined (Refuted)")


# -- several elements --------------------------------------------------------------------------------------------------


def groups(
    path: Path, shape: tuple[Expr | int, ...], index: tuple[Expr, ...], element: int | None, dtype: str = "int32"
) -> Reassociate:
    """A split in which dimension ``element`` of the partial results is the element of B."""
    inputs = tuple(Var.fresh(f"y{k}") for k in range(len(shape))) if element is not None else ()
    of = (inputs[element],) if element is not None else ()
    return Reassociate(path, Buffer.declare("P", shape, dtype), index, inputs, of)


SUMS = "for i, k in T.grid(4, 2):\n    B[i] = B[i] + A[i * 2 + k]"


def test_a_group_belongs_to_an_element() -> None:
    f = program(SUMS, AB.format("int32"))
    i, k = variable(f, "i"), variable(f, "k")
    gives(f, groups((), (2, 4), (k, i), 1), """
P = T.alloc_buffer((2, 4), "int32")
for j0, j1 in T.grid(2, 4):
    P[j0, j1] = 0
for i, k in T.grid(4, 2):
    P[k, i] = P[k, i] + A[i * 2 + k]
for j0, j1 in T.grid(2, 4):
    B[j1] = B[j1] + P[j0, j1]""")  # fmt: skip
    accepted(f, groups((), (4, 2), (i, k), 0))
    accepted(f, groups((), (3, 4), (k, i), 1))
    belongs = "a term's partial result in P belongs to the term's element of B (Refuted)"
    refused(f, groups((), (4, 2), (3 - i, k), 0), belongs)
    refused(f, groups((), (2, 4), (k, k), 1), belongs)
    refused(f, groups((), (2, 3), (k, i), 1), "every term goes to one of the partial results of P (Refuted)")
    refused(f, groups((), (2, 5), (k, i), 1), "B[j1]: in bounds (Refuted)")


def test_counting_by_memory() -> None:
    """That A[k] was an index of B is enough to know that it is one of P."""
    f = program("for k in range(10):\n    B[A[k]] = B[A[k]] + 1", AB.format("int32"))
    k = variable(f, "k")
    where = load(buffer_of(f, "A"), k)
    gives(f, groups((), (2, 4), (k % 2, where), 1), """
P = T.alloc_buffer((2, 4), "int32")
for j0, j1 in T.grid(2, 4):
    P[j0, j1] = 0
for k in range(10):
    P[k % 2, A[k]] = P[k % 2, A[k]] + 1
for j0, j1 in T.grid(2, 4):
    B[j1] = B[j1] + P[j0, j1]""")  # fmt: skip
    refused(f, groups((), (2, 3), (k % 2, where), 1), "every term goes to one of the partial results")
    refused(f, groups((), (2, 4), (k % 2, where), 0), "belongs to the term's element of B (Refuted)")
    refused(f, groups((), (2,), (k % 2,), None), "k is not in scope here")


def test_the_element_of_a_group_may_be_read_from_memory() -> None:
    """From any but the result's, and where all of it may be touched."""
    text = "for k in range(4):\n    T.assume(A[k] >= 0 and A[k] < 4)\nfor l in range(4):\n    B[A[l]] = B[A[l]] + n"
    f = program(text, AB.format("int32"))
    a, b, l, y = buffer_of(f, "A"), buffer_of(f, "B"), variable(f, "l"), Var.fresh("y")
    start = reflexive(f, definite=True)
    done = accepted(start, Reassociate((1,), partial("int32", 4), (l,), (y,), (load(a, y),)))
    assert body_of(done).endswith("for j0 in range(4):\n    B[A[j0]] = B[A[j0]] + P[j0]")
    refused(start, Reassociate((1,), partial("int32", 5), (l,), (y,), (load(a, y),)), "in bounds (Refuted)")
    reads = "where a term goes may not depend on B"
    refused(start, Reassociate((1,), partial("int32", 4), (l,), (y,), (load(b, y),)), reads)


def test_symbolic_numbers_of_groups() -> None:
    params = 'A: T.Buffer(("m",), "int32"), B: T.Buffer((4,), "int32"), n: T.int32'
    f = program("for k in range(n):\n    B[2] = B[2] + A[0]", params)
    k, n, m = variable(f, "k"), variable(f, "n"), variable(f, "m")
    refused(f, groups((), (n,), (k,), None), "n: an extent that is not negative (Refuted)")
    refused(f, groups((), (m,), (k,), None), "every term goes to one of the partial results")
    f = program("for k in range(m):\n    B[2] = B[2] + A[k]", params)
    k, m = variable(f, "k"), variable(f, "m")
    assert "P = T.alloc_buffer((m,)" in body_of(accepted(f, groups((), (m,), (k,), None)))
    accepted(f, groups((), ((m + 1) // 2,), (k // 2,), None))
    refused(f, groups((), (m // 2,), (k // 2,), None), "every term goes to one of the partial results")
    refused(f, groups((), (m - 1,), (k % (m - 1),), None), "not negative (Refuted)")
    refused(f, groups((), (m * 100000,), (k,), None), "no overflow (Refuted)")
    refused(f, groups((), (4,), (k * 65536 * 0,), None), "no overflow (Refuted)")


@pytest.mark.parametrize(("range_", "element"), [("0", 4), ("-3", 4), ("n, n", 4), ("0", -1), ("T.min(n, 0)", 7)])
def test_an_empty_nest_touches_the_element_all_the_same(range_: str, element: int) -> None:
    f = program(f"for k in range({range_}):\n    B[{element}] = B[{element}] + A[k]", AB.format("int32"))
    refused(f, groups((), (2,), (variable(f, "k") % 2,), None), "in bounds (Refuted)")


def test_the_buffer_of_partial_results() -> None:
    f = program(SUMS, AB.format("int32"))
    i, k = variable(f, "i"), variable(f, "k")
    a = buffer_of(f, "A")
    y = Var.fresh("y")
    for partial_, words in (
        (Buffer.declare("P", (4,), "int32", strides=(2,)), "no strides and no offset"),
        (Buffer.declare("P", (4,), "int32", elem_offset=-1), "no strides and no offset"),
        (Buffer.declare("P", (4,), "int64"), "must have the type of B"),
        (Buffer.declare("P", (4,), "int32", data=a.data), "A is bound twice"),
        (Buffer.declare("P", (load(a, 0),), "int32"), "an extent of P reads memory"),
        (Buffer.declare("P", (i + 4,), "int32"), "i is not in scope here"),
        (Buffer.declare("P", (4, 1), "int32"), "P has 2 dimensions"),
    ):
        refused(f, Reassociate((), partial_, (i,), (y,), (y,)), words)
    fine = Buffer.declare("P", (4,), "int32")
    accepted(f, Reassociate((), fine, (i,), (y,), (y,)))
    refused(f, Reassociate((), fine, (i,), (y,), (i,)), "i is not in scope here")
    refused(f, Reassociate((), fine, (i,), (y,), (y, y)), "B has 1 dimensions")
    refused(f, Reassociate((), fine, (i,), (y,), (load(a, y),)), "belongs to the term's element of B (Refuted)")
    refused(f, Reassociate((), fine, (i,), (y, k), (y,)), "P has 1 dimensions")
    refused(f, Reassociate((), fine, (load(buffer_of(f, "B"), 0),), (y,), (y,)), "may not depend on B")


# -- when the order does not matter ------------------------------------------------------------------------------------

BOOLS = 'A: T.Buffer((10,), "bool"), B: T.Buffer((4,), "bool"), C: T.Buffer((10,), "int32")'


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("B[2] and k < 5", None),
        ("B[2] or k < 5", None),
        ("B[2] & (k < 5)", None),
        ("B[2] ^ A[k]", None),
        ("B[2] and A[k]", "A[k] is defined (Refuted)"),
        ("B[2] or 7 // (k - 3) > 0", "division by zero (Refuted)"),
        ("B[2] and A[k + 1]", "in bounds (Refuted)"),
        ("B[2] and 7 // C[k] > 0", "(Refuted)"),
        ("A[k] and B[2]", "is not an update"),
        ("B[2] or B[2]", "is read in the nest other than by its own update"),
    ],
)
def test_bools(value: str, reason: str | None) -> None:
    """``and`` and ``or`` evaluate a term only if the result is not decided; in another order they may."""
    f = program(f"for k in range(10):\n    B[2] = {value}", BOOLS)
    rule = groups((), (3,), (variable(f, "k") % 3,), None, "bool")
    if reason is None:
        accepted(f, rule)
    else:
        refused(f, rule, reason)


def test_a_term_is_added_to_on_the_right_of_the_partial_result() -> None:
    """``B and P`` would branch on B, which may be undefined where there is no term."""
    f = program("for k in range(10):\n    B[2] = B[2] and k < 5", BOOLS)
    text = body_of(accepted(f, groups((), (3,), (variable(f, "k") % 3,), None, "bool")))
    assert text.endswith("B[2] = P[j0] and B[2]")


FLOATS = 'A: T.Buffer((10,), "float32"), B: T.Buffer((4,), "float32")'
START = "B[2] = T.float32({})\n"
LOOP = "for k in range(10):\n    B[2] = {}"


@pytest.mark.parametrize(
    ("start", "value", "reason"),
    [
        ('"-inf"', "T.max(B[2], T.max(A[k], T.float32(0.0)))", ""),
        ('"-inf"', "T.max(T.max(A[k], T.float32(0.0)), B[2])", ""),
        ("0.0", "T.max(B[2], T.max(A[k], T.float32(0.0)))", ""),
        ("-0.0", "T.max(B[2], T.max(A[k], T.float32(0.0)))", "no element of B that the max begins with is -0.0"),
        ('"nan"', "T.max(B[2], T.max(A[k], T.float32(0.0)))", "no element of B that the max begins with is NaN"),
        ('"-inf"', "T.max(B[2], T.max(T.float32(0.0), A[k]))", "no term of the max into B is NaN"),
        ('"-inf"', "T.max(B[2], A[k])", "no term of the max into B is NaN"),
        ('"inf"', "T.min(B[2], T.min(A[k], T.float32(0.0)))", ""),
        ('"inf"', "T.min(B[2], T.min(A[k], T.float32(-0.0)))", "no term of the min into B is -0.0"),
        ("0.0", "B[2] + T.float32(0.0)", "the sum of float32 into B has the same bits in any order"),
        ("1.0", "B[2] * T.float32(1.0)", "the product of float32 into B has the same bits in any order"),
    ],
)
def test_float_minima_and_maxima(start: str, value: str, reason: str) -> None:
    f = program(START.format(start) + LOOP.format(value), FLOATS)
    rule = groups((1,), (3,), (variable(f, "k") % 3,), None, "float32")
    if reason:
        refused(f, rule, reason)
    else:
        done = steps(f, rule)
        assert done.reassociated == frozenset()
        assert "P[j0] = T.float32(" in body_of(done.after)


def test_the_users_word_covers_zeros_and_not_nan() -> None:
    text = (
        "for i in range(10):\n    T.assume(A[i] == A[i])\n" + START.format('"-inf"') + LOOP.format("T.max(B[2], A[k])")
    )
    f = program(text, FLOATS)
    plain = groups((2,), (3,), (variable(f, "k") % 3,), None, "float32")
    refused(f, plain, "no term of the max into B is -0.0 (Refuted)")
    assert steps(licensed_for(f, "B"), plain).reassociated == {buffer_of(f, "B").data}
    f = program("\n".join(text.split("\n")[2:]), FLOATS)
    rule = Reassociate((1,), partial("float32"), (variable(f, "k") % 3,))
    refused(licensed_for(f, "B"), rule, "no term of the max into B is NaN")


# -- another order -----------------------------------------------------------------------------------------------------


def turned(f: PrimFunc, path: Path) -> moves.RuleBuilder:
    """The loop at a path run backwards."""
    loop = at(f.body, path)
    assert isinstance(loop, For)
    r = Var.fresh("r")
    last = loop.min + loop.extent - 1
    return moves.reindex(path, 1, (NewLoop(r, const(0), loop.extent),), (), (last - r,), (last - loop.var,))


def backwards(f: PrimFunc, path: Path) -> RuleBuilder:
    """The same of a reduction, whatever the order of its terms."""
    return moves.in_any_order(turned(f, path))


def test_a_sum_backwards() -> None:
    f = summed()
    refused(f, turned(f, ()), "iterations change their order")
    gives(f, backwards(f, ()), """
for r in range(10):
    if A[9 - r] > 0:
        B[2] = B[2] + A[9 - r]""")  # fmt: skip
    f = program("for k in range(10):\n    B[k // 3] = B[k // 3] + A[k]", AB.format("int32"))
    accepted(f, backwards(f, ()))
    f = program("for k in range(10):\n    B[k % 4] = B[k % 4] - A[k]", AB.format("int32"))
    refused(f, backwards(f, ()), "sub on int32 is not associative")


def test_iterations_are_neither_lost_nor_invented() -> None:
    f = summed()
    k, r = variable(f, "k"), Var.fresh("r")
    for extent, forth, back, claim in (
        (11, 10 - r, 10 - k, "every new iteration is an old one"),
        (9, 8 - r, 8 - k, "is run"),
        (10, r // 2, k * 2, "(Refuted)"),
    ):
        rule = moves.in_any_order(moves.reindex((), 1, (NewLoop(r, const(0), const(extent)),), (), (forth,), (back,)))
        refused(f, rule, claim)


@pytest.mark.parametrize(
    "text",
    [
        "for k in range(4):\n    if B[0] > 3:\n        B[2] = B[2] + A[k]",
        "for k in range(4):\n    B[A[k]] = B[A[k]] + B[0]",
        "for k in range(4):\n    B[B[0]] = B[B[0]] + A[k]",
        "for k in range(4):\n    for l in range(B[1]):\n        B[2] = B[2] + A[k]",
        "for k in range(4):\n    with T.LetStmt(B[3]) as v:\n        B[2] = B[2] + v",
    ],
)
def test_what_reads_the_result_keeps_its_order(text: str) -> None:
    f = program(text, AB.format("int32"))
    refused(f, backwards(f, ()), "is read in the nest other than by its own update")


def test_a_float_sum_in_another_order_needs_the_users_word() -> None:
    f = summed("+", "float32")
    refused(f, backwards(f, ()), "the sum of float32 into B has the same bits in any order (Refuted)")
    assert steps(licensed_for(f, "B"), backwards(f, ())).reassociated == {buffer_of(f, "B").data}
    f = program(START.format("0.0") + LOOP.format("T.max(B[2], A[k])"), FLOATS)
    refused(licensed_for(f, "B"), backwards(f, (1,)), "no term of the max into B is NaN")


def test_a_bool_in_another_order() -> None:
    f = program("for k in range(10):\n    B[2] = B[2] and k < 5", BOOLS)
    accepted(f, backwards(f, ()))
    f = program("for k in range(10):\n    B[2] = B[2] and 7 // (k - 3) > 0", BOOLS)
    refused(f, backwards(f, ()), "division by zero")


# -- the classic faults ------------------------------------------------------------------------------------------------

RACE = """
for o in T.parallel(2):
    t = T.alloc_buffer((1,), "int32")
    t[0] = o
    if t[0] == o:
        for k in range(4):
            B[o] = B[o] + A[k]
"""


def test_groups_of_all_elements_race_in_a_parallel_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each iteration would add the partial results of all elements, those of others too.  If both iterations shared
    what they read of t, ``t[0] == o`` and ``t[0] == o'`` would make them one."""
    f = program(RACE, AB.format("int32"))
    o, k = variable(f, "o"), variable(f, "k")
    path = (0, 0, 1, 0)
    rule = groups(path, (2, 2), (k % 2, o), 1)
    found = refused(f, rule, "race: ")
    accepted(f, groups(path, (2,), (k % 2,), None))
    instances_share_loads(monkeypatch)
    assert isinstance(apply(rule, reflexive(f), Prover(Solver())), Refines), found


STALE = """
if B[2] > T.float32(0):
    B[2] = A[0]
    for k in range(10):
        B[2] = T.max(B[2], T.max(A[k], T.float32(1)))
"""


def test_what_was_known_of_the_result_ends_with_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """``B[2] > 0`` says that B[2] is no NaN, until something is stored there."""
    f = program(STALE, FLOATS)
    rule = groups((0, 1), (3,), (variable(f, "k") % 3,), None, "float32")
    refused(f, rule, "no element of B that the max begins with is NaN (Refuted)")
    kept = program(STALE.replace("    B[2] = A[0]\n", "    B[1] = A[0]\n"), FLOATS)
    accepted(kept, groups((0, 1), (3,), (variable(kept, "k") % 3,), None, "float32"))
    stores_change_nothing(monkeypatch)
    assert isinstance(apply(rule, reflexive(f), Prover(Solver())), Refines)
