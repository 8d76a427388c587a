"""Arguments, lemmas and assumptions, where it is tight: what a function may be called with, and is not."""

from __future__ import annotations

import pytest

from tests.kernel.programs import AB as INTEGERS
from tests.kernel.programs import (
    PROVER,
    accepted,
    blocks_of,
    body_of,
    buffer,
    licensed_for,
    program,
    refused,
    steps,
    unlicensed,
    variable,
    why,
)
from tests.kernel.rules.test_call import AB, DOUBLE, LOOP, call, halves, lemma
from tests.kernel.rules.test_call_implement import EXTERN, RAW, implement
from tests.rules.building import load, store
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Var
from verified_tir.ir.script import parse_func
from verified_tir.ir.stmt import Assume, Evaluate, For
from verified_tir.ir.sugar import const
from verified_tir.ir.wellformed import problem
from verified_tir.kernel.calls import Arguments
from verified_tir.kernel.rules.axiom import Axiom
from verified_tir.kernel.rules.call import Implement, Refine
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.scope import Declare
from verified_tir.kernel.theorem import Refines, apply, reflexive
from verified_tir.schedule import moves
from verified_tir.schedule.rule_builders import labelled, of_kind

USES = """
@T.prim_func
def uses(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32"), Z: T.Buffer((4,), "float32")):
    for k in range(4):
        Y[k] = X[k] * T.float32(2)
"""


def test_an_argument_that_somebody_uses_is_alive_at_the_place() -> None:
    """t is a buffer of the program, but gone where the loop stands; C is one of no program, and V a view of none."""
    f = program(
        'for k in range(1):\n    t = T.alloc_buffer((4,), "float32")\n    t[0] = A[0]\n    B[0] = t[0]\n' + LOOP, AB
    )
    a, b, t = (buffer(f, name) for name in ("A", "B", "t"))
    func = parse_func(USES)
    z = func.buffers[2]
    reads = lemma(func, Insert((), Evaluate(load(z, 0))))
    accepted(f, Refine((1,), reads, Arguments((a, b, a))))
    for c in (t, Buffer.declare("C", (4,)), Buffer.declare("V", (4,), data=a.data)):
        rule = Arguments((a, b, c))
        refused(f, Refine((1,), reads, rule), f"buffer {c.name} is not declared here")
        accepted(f, Refine((1,), halves(USES), rule))  # nobody uses it


def test_what_only_the_lemma_writes_is_written() -> None:
    """The same bits, but of a block that is seen as integers, too: a NaN has none."""
    text = "for k in range(4):\n    T.evaluate(X[k])"
    func = program(text, "X: T.Buffer((4,), 'float32')")
    x = func.buffers[0]
    writes = lemma(func, Insert((0,), store(x, load(x, variable(func, "k")), variable(func, "k"))))
    text = "v = T.decl_buffer((4,), '{}', data=A.data)\nfor i in range(4):\n    T.evaluate(A[i])"
    for dtype, fine in (("float32", True), ("int32", False)):
        f = program(text.format(dtype), 'A: T.Buffer((4,), "float32")')
        rule = call((0,), writes, f, "A")
        accepted(f, rule) if fine else refused(f, rule, "the block of A has views of several types")


FILL = "for i, j in T.grid(2, 4):\n    {}[i, j] = T.float32(1)"
STRIDED = "v = T.decl_buffer((2, 4), 'float32', data=A.data, strides=[{}, 1])\n" + FILL.format("v")


def test_strides_are_looked_at_within_the_shape() -> None:
    """With strides 4 and 1 no two elements meet: (0, 4) would be (1, 0), but is none."""
    func = program(FILL.format("X"), "X: T.Buffer((2, 4), 'float32')")
    proved = lemma(func, of_kind((), "unrolled"))
    for stride, fine in ((4, True), (5, True), (3, False)):
        f = program(STRIDED.format(stride), 'A: T.Buffer((16,), "float32")')
        rule = call((0,), proved, f, "v")
        accepted(f, rule) if fine else refused(
            f, rule, "no two indices of v, passed for X of f, address the same element"
        )


def test_what_is_only_read_may_have_one_element_for_all() -> None:
    f = program(f"v = T.decl_buffer((4,), 'float32', data=A.data, strides=[0])\n{LOOP.replace('A[', 'v[')}", AB)
    assert "B[k]" in body_of(accepted(f, call((0,), halves(), f, "v", "B")))


def test_no_two_indices_of_a_row_major_buffer_address_one_element() -> None:
    text = "@T.prim_func\ndef cube(x: T.handle, n: T.int32, m: T.int32):\n"
    body = "    X = T.match_buffer(x, (n, m + 1, n // 2, m, 3), 'float32')\n"
    body += "    for i in range(n // 2):\n        X[i, 0, i, 0, 1] = T.float32(1)"
    proved = lemma(parse_func(text + body), of_kind((), "unrolled"))
    f = parse_func((text + body).replace("def cube", "def f"))
    accepted(f, call((), proved, f, "X", n=variable(f, "n"), m=variable(f, "m")))


def test_the_strides_of_a_row_major_buffer() -> None:
    f = program("for k in range(1):\n    for i in range(4):\n        B[i] = A[i] * T.float32(2)", AB)
    impl = parse_func(EXTERN)
    accepted(f, implement(f, impl, "A", "B", s=const(1), o=const(0)))
    refused(
        f,
        implement(f, impl, "A", "B", s=const(4), o=const(0)),
        "A, passed for X of fast: its strides are the parameter's (Refuted)",
    )


def test_an_implementation_assumes_nothing() -> None:
    f = program(LOOP, AB)
    a, b = f.buffers
    impl = parse_func(RAW.replace("    T.evaluate", "    T.assume(X[0] > T.float32(0))\n    T.evaluate"))
    rule = Implement((), parse_func(DOUBLE), impl, Arguments((a, b)), ())
    refused(f, rule, "fast assumes something; what a call needs stands in double")
    accepted(f, Implement((), parse_func(DOUBLE), parse_func(RAW), Arguments((a, b)), ()))


# -- lemmas ------------------------------------------------------------------------------------------------------------


def test_views_that_a_lemma_declared_count() -> None:
    func = parse_func(DOUBLE)
    view = Buffer.declare("V", (2, 2), "float32", data=func.buffers[1].data)
    proved = lemma(func, moves.split_index_set((), const(2)), Declare((), view, True))
    f = program(f"w = T.decl_buffer((4,), 'float32', data=B.data, strides=[1])\n{LOOP.replace('B[', 'w[')}", AB)
    accepted(f, call((0,), halves(), f, "A", "w"))
    refused(f, call((0,), proved, f, "A", "w"), "Y of double is known by its pointer, and w is not a whole block")


@pytest.mark.parametrize("last", [False, True])
def test_no_licence_for_what_a_lemma_runs_again(last: bool) -> None:
    """The lemma is proved again for its own parameters, for which the licensed block was passed."""
    func = program("Y[0] = X[0]\nY[1] = X[1]", AB.replace("A:", "X:").replace("B:", "Y:"))
    f = program("B[0] = A[0]\nB[1] = A[1]", AB)
    again, other = moves.recompute((1,), (0,), (), (), ()), labelled((1,), "last")
    proved = lemma(func, *((other, again) if last else (again, labelled((2,), "last"))))
    step, reason = unlicensed(steps(f, call((), proved, f, "A", "B")), "B")
    assert (step, reason) == (0, "the recomputed statement sums into a licensed block: its two sums could differ")
    licensed_for(steps(f, call((), proved, f, "A", "B")), "A")
    licensed_for(steps(f, call((), lemma(func, other), f, "A", "B")), "B")


def test_a_lemma_is_proved_for_what_is_licensed() -> None:
    """Where a licence was given, a lemma needs its own."""
    func = program("Y[0] = X[0]\nY[1] = X[1]", AB.replace("A:", "X:").replace("B:", "Y:"))
    f = program("B[0] = A[0]\nB[1] = A[1]", AB)
    proved = lemma(func, labelled((1,), "last"))
    open_bits = "the lemma about f was proved from bits that a licence leaves open"
    refused(licensed_for(f, "B"), call((), proved, f, "A", "B"), open_bits)
    accepted(licensed_for(f, "B"), call((), licensed_for(proved, "Y"), f, "A", "B"))
    refused(licensed_for(f, "A", "B"), call((), licensed_for(proved, "Y"), f, "A", "B"), open_bits)
    done = steps(f, call((), licensed_for(proved, "Y"), f, "A", "B"))
    for names in ("A", "B", "AB"):  # the licence that a lemma has already is not lost where it needs another one
        assert licensed_for(done, *names).licensed == blocks_of(f, *names)


# -- assumptions -------------------------------------------------------------------------------------------------------


def test_an_assumption_may_be_made_twice() -> None:
    f = program("B[0] = A[0]", INTEGERS)
    i = Var.fresh("i")
    rule = Axiom(For(i, const(0), const(4), Assume(load(f.buffers[0], i) >= 0)))
    theorem = reflexive(f)
    for _ in range(2):
        new = apply(rule, theorem, PROVER)
        assert isinstance(new, Refines), why(new)
        theorem = new
        assert problem(theorem.before) is None and problem(theorem.after) is None
    assert body_of(theorem.after).count("T.assume(A[i") == 2
