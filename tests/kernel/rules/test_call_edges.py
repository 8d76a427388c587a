"""Arguments at the edge of what a function may be called with, and lemmas that are none."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from tests.kernel.programs import (
    accepted,
    body_of,
    buffer,
    licensed_for,
    load,
    program,
    refused,
    steps,
    store,
    variable,
)
from tests.kernel.rules.test_call import AB, DOUBLE, LOOP, SHAPED, VIEWED, call, halves, lemma, reversed_loop
from tests.kernel.rules.test_call_implement import RAW
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.script import parse_func
from verified_tir.ir.stmt import DeclBuffer, If
from verified_tir.ir.sugar import const
from verified_tir.kernel.begin import LARGEST, scalars_of
from verified_tir.kernel.calls import Arguments, instantiate
from verified_tir.kernel.obligation import Misfit
from verified_tir.kernel.rules.call import Implement, Refine
from verified_tir.kernel.rules.reassociate import Reassociate
from verified_tir.kernel.theorem import Refines, reflexive
from verified_tir.schedule.edits import rewritten
from verified_tir.schedule.rule_builders import of_kind

FULL = LARGEST[32]


@pytest.mark.parametrize(
    ("shape", "wanted", "values", "reason"),
    [
        ((FULL,), "n,", (FULL, 1), ""),
        ((FULL + 1,), "n,", (FULL + 1, 1), "L, passed for X of sized: it is no larger than an array (Refuted)"),
        ((FULL,), "n * 2,", (FULL // 2, 1), ""),
        (
            (FULL + 2,),
            "n * 2,",
            (FULL // 2 + 1, 1),
            "L, passed for X of sized: it is no larger than an array (Refuted)",
        ),
        ((65536, FULL // 65536), "n, m", (65536, FULL // 65536), ""),
        (
            (65536, FULL // 65536 + 1),
            "n, m",
            (65536, FULL // 65536 + 1),
            "L, passed for X of sized: it is no larger than an array (Refuted)",
        ),
    ],
)
def test_arrays_of_the_function_are_no_larger_than_arrays_can_be(
    shape: tuple[int, ...], wanted: str, values: tuple[int, int], reason: str
) -> None:
    """What it may assume of its symbols has to be true."""
    index = ", ".join("0" for _ in shape)
    proved = lemma(
        parse_func(
            f"@T.prim_func\ndef sized(X: T.Buffer(({wanted}), 'int8'), n: T.int32, m: T.int32):\n"
            f"    for k in range(4):\n        X[{index}] = T.int8(1)\n"
        ),
        of_kind((), "unrolled"),
    )
    f = program(f"L = T.alloc_buffer(({', '.join(map(str, shape))},), 'int8')\nfor i in range(4):\n"
                f"    L[{index}] = T.int8(1)")  # fmt: skip
    rule = call((0,), proved, f, "L", n=const(values[0]), m=const(values[1]))
    if reason:
        refused(f, rule, reason)
    else:
        assert "T.unroll(4)" in body_of(accepted(f, rule))


WRITTEN_FIRST = """
@T.prim_func
def first(Y: T.Buffer((4,), "float32"), X: T.Buffer((4,), "float32")):
    for k in range(4):
        Y[k] = X[k] * T.float32(2)
"""


def test_whichever_of_two_buffers_is_written() -> None:
    body = "u = T.decl_buffer((4,), 'float32', data=A.data)\n"
    body += "v = T.decl_buffer((4,), 'float32', data=A.data, elem_offset=2)\n"
    body += "for i in range(4):\n    v[i] = u[i] * T.float32(2)"
    f = program(body, 'A: T.Buffer((8,), "float32")')
    refused(f, call((0, 0), halves(WRITTEN_FIRST), f, "v", "u"), "do not overlap (Refuted)")


VIEW = "w = T.decl_buffer((2, 2), 'float32', data=A.data)\nfor i in range(2):\n    w[i, i] = T.float32(0)"


@pytest.mark.parametrize("declared", ["strides=[1]", "elem_offset=2"])
def test_a_block_that_is_seen_otherwise_is_a_whole_one(declared: str) -> None:
    proved = lemma(parse_func(VIEWED), of_kind((0,), "unrolled"))
    f = program(VIEW, f'A: T.Buffer((4,), "float32", {declared})')
    refused(f, call((), proved, f, "A"), "X of viewed is known by its pointer, and A is not a whole block")
    own = lemma(parse_func(VIEWED.replace('"float32")):', f'"float32", {declared})):')), of_kind((0,), "unrolled"))
    refused(f, call((), own, f, "A"), "X of viewed is known by its pointer, and A is not a whole block")
    f = program(VIEW, 'A: T.Buffer((4,), "float32")')
    refused(f, call((), own, f, "A"), "X of viewed is known by its pointer, and A is not a whole block")


def test_a_view_is_no_whole_block_though_it_has_its_form() -> None:
    proved = lemma(parse_func(VIEWED), of_kind((0,), "unrolled"))
    f = program("v = T.decl_buffer((4,), 'float32', data=A.data)\n" + VIEW, 'A: T.Buffer((8,), "float32")')
    refused(f, call((0,), proved, f, "v"), "X of viewed is known by its pointer, and v is not a whole block")


def test_a_bool_that_was_loaded_is_no_scalar() -> None:
    body = "    for k in range(4):\n        if c:\n            X[k] = 1\n"
    proved = reversed_loop(f"@T.prim_func\ndef when(X: T.Buffer((4,), 'int32'), c: T.bool):\n{body}")
    (c,) = scalars_of(proved.before)
    f = program("x: T.let[T.bool] = A[0] > 0\nfor i in range(4):\n    if x:\n        A[i] = 1")
    rule = Refine((0,), proved, Arguments((buffer(f, "A"),), ((c, variable(f, "x")),)))
    refused(f, rule, "c of when would be data")


# -- what a lemma is ---------------------------------------------------------------------------------------------------


def test_only_the_kernel_makes_lemmas() -> None:
    f = program(LOOP, AB)
    proved = halves()
    wrong = parse_func(DOUBLE.replace("float32(2)", "float32(3)"))
    forged = SimpleNamespace(before=proved.before, after=wrong, derivation=(), definite=False, relation=(),
                             paddings=(), reassociated=frozenset())  # fmt: skip
    refused(f, call((), cast(Refines, forged), f, "A", "B"), "this is not a theorem: the kernel has not made it")


def test_a_lemma_about_another_order_of_a_sum_is_refused() -> None:
    text = "{0}[0] = T.float32(0)\nfor k in range(4):\n    {0}[0] = {0}[0] + {1}[k]"
    func = program(text.format("Y", "X"), 'X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")')
    groups = Buffer.declare("P", (2,), "float32")
    grouped = steps(licensed_for(func, "Y"), Reassociate((1,), groups, (variable(func, "k") % 2,)))
    assert grouped.reassociated
    f = program(text.format("B", "A"), AB)
    rule = Refine((), grouped, Arguments((buffer(f, "A"), buffer(f, "B"))))
    refused(f, rule, "sums in another order; reassociate at the place of the call")


def test_a_lemma_does_not_rest_on_an_axiom() -> None:
    func = parse_func(DOUBLE)
    x, y = func.buffers
    believed = lemma(func, Implement((), func, parse_func(RAW), Arguments((x, y)), ()))
    f = program(LOOP, AB)
    refused(f, call((), believed, f, "A", "B"), "double makes an opaque call")


def test_an_implementation_may_write_whatever_it_is_given() -> None:
    body = "for k in range(4):\n    Y[0] = X[k] + Z[k]"
    three = 'X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32"), Z: T.Buffer((4,), "float32")'
    described = program(body, three)
    opaque = program('T.evaluate(T.call_extern("int32", "g", T.address_of(X[0]), T.address_of(Y[0])))', three)
    f = program(body, three)
    x, y, z = f.buffers
    accepted(f, Implement((), described, opaque, Arguments((x, y, z)), ()))
    f = program(body.replace("Z", "X"), three)
    x, y, z = f.buffers
    rule = Implement((), described, opaque, Arguments((x, y, x)), ())
    refused(f, rule, "X and X, for X and Z of f, do not overlap (Refuted)")


FILL = """
@T.prim_func
def fill(X: T.Buffer((2, 2), "float32")):
    for k in range(2):
        X[k, k] = T.float32(0)
"""


@pytest.mark.parametrize(("strides", "fine"), [((2, 1), True), ((0, 1), False), ((1, 0), False), ((1, 1), False)])
def test_elements_that_agree_in_one_index_only_are_two(strides: tuple[int, int], fine: bool) -> None:
    f = program(
        f"v = T.decl_buffer((2, 2), 'float32', data=A.data, strides={list(strides)})\n"
        "for i in range(2):\n    v[i, i] = T.float32(0)",
        'A: T.Buffer((8,), "float32")',
    )
    rule = call((0,), lemma(parse_func(FILL), of_kind((), "unrolled")), f, "v")
    if fine:
        accepted(f, rule)
    else:
        refused(f, rule, "no two indices of v, passed for X of fill, address the same element (Refuted)")


def test_strides_matter_where_there_are_elements() -> None:
    """One row has no distance to a second one; two rows have."""
    for rows, fine in ((1, True), (2, False)):
        text = FILL.replace("(2, 2)", f"({rows}, 2)").replace('"float32")', '"float32", strides=[7, 1])')
        text = text.replace("range(2)", "range(1)")
        f = program(
            f"v = T.decl_buffer(({rows}, 2), 'float32', data=A.data, strides=[2, 1])\n"
            "for i in range(1):\n    v[i, i] = T.float32(0)",
            'A: T.Buffer((16,), "float32")',
        )
        rule = call((0,), lemma(parse_func(text), of_kind((), "unrolled")), f, "v")
        if fine:
            accepted(f, rule)
        else:
            refused(f, rule, "v, passed for X of fill: its strides are the parameter's (Refuted)")


def test_each_dimension_is_the_parameters() -> None:
    f = program("for i in range(2):\n    A[i, i] = T.float32(0)", 'A: T.Buffer((2, 3), "float32")')
    rule = call((), lemma(parse_func(FILL), of_kind((), "unrolled")), f, "A")
    refused(f, rule, "A, passed for X of fill: dimension 1 is the parameter's (Refuted)")


def test_a_view_of_another_block_says_nothing_of_this_one() -> None:
    """The function's own memory is seen through another view, and X is not."""
    text = """
@T.prim_func
def inner(X: T.Buffer((4,), "float32")):
    t = T.alloc_buffer((4,), "float32")
    w = T.decl_buffer((2, 2), "float32", data=t.data)
    for k in range(2):
        w[k, k] = X[k]
        X[k] = t[3 * k]
"""
    body = text[text.index("    t = ") :].replace("X[", "v[").replace("\n    ", "\n").strip()
    f = program(
        f"v = T.decl_buffer((4,), 'float32', data=A.data, elem_offset=4)\n{body}", 'A: T.Buffer((8,), "float32")'
    )
    accepted(f, call((0,), lemma(parse_func(text), of_kind((0, 0), "unrolled")), f, "v"))


def test_a_function_may_be_called_where_its_own_symbols_mean_something_else() -> None:
    """n is the caller's, and what is passed for the function's n, which is the same variable, is n - 1."""
    func = parse_func(SHAPED)
    (x,), (n,) = func.buffers, scalars_of(func)
    view = Buffer.declare("v", (n - 1,), "float32", data=x.data)
    arguments = Arguments((view,), ((n, n - 1),))
    caller = func.with_body(If(n > 0, DeclBuffer(view, instantiate(func, arguments))))
    proved = lemma(func, of_kind((), "unrolled"))
    assert "in T.unroll(n - 1)" in body_of(accepted(caller, Refine((0, 0), proved, arguments)))
    longer = Buffer.declare("v", (n,), "float32", data=x.data)
    caller = func.with_body(If(n > 0, DeclBuffer(longer, instantiate(func, Arguments((longer,), ((n, n - 1),))))))
    rule = Refine((0, 0), proved, Arguments((longer,), ((n, n - 1),)))
    refused(caller, rule, "v, passed for X of shaped: dimension 0 is the parameter's (Refuted)")


def test_an_implementation_takes_what_it_is_given() -> None:
    f, described = program(LOOP, AB), parse_func(DOUBLE)
    given = Arguments(f.buffers)
    three = parse_func(RAW.replace("Y:", 'Z: T.Buffer((4,), "float32"), Y:'))
    refused(f, Implement((), described, three, given, ()), "fast takes 3 buffers, not 2")
    scalar = parse_func(RAW.replace("):", ", n: T.int32):").replace("X.data", "X.data, n"))
    refused(f, Implement((), described, scalar, given, ()), "fast takes one value for each of its scalars")
    (n,) = scalars_of(scalar)
    accepted(f, Implement((), described, scalar, given, ((n, const(4)),)))


def test_a_function_sees_no_view_that_it_does_not_declare() -> None:
    """V is the function's X to the lemma; the caller has a V, too, which starts elsewhere than what is passed for X."""
    f = program("Y[0] = X[0]", 'X: T.Buffer((4,), "int32"), Y: T.Buffer((4,), "int32")')
    x, y = f.buffers
    view = replace(x, name="V")
    with pytest.raises(Misfit, match="buffer V is not declared here"):
        reflexive(f.with_body(store(y, load(view, 0), 0)))
    g = program("B[0] = 1", 'W: T.Buffer((8,), "int32"), B: T.Buffer((4,), "int32")')
    w, b = g.buffers
    part = replace(x, name="part", data=w.data, elem_offset=const(4))
    closed = steps(f, rewritten((), (0,), load(x, 0)))
    there = g.with_body(DeclBuffer(part, store(b, load(part, 0), 0)))
    accepted(there, Refine((0,), closed, Arguments((part, b))))
