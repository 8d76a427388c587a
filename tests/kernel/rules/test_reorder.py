"""Reorder: what it takes and, beside each, what it refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.kernel.programs import (
    AB,
    accepted,
    body_of,
    buffer,
    gives,
    gives_folded,
    licensed_for,
    load,
    program,
    refused,
    steps,
    store,
    take,
    variable,
)
from verified_tir.ir.dtype import INT32, INT64
from verified_tir.ir.expr import TRUE, Binary, Cast, Expr, Not, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.paths import Path
from verified_tir.ir.stmt import SKIP, Block, Evaluate, For, If, LetStmt, Seq, Stmt
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.rules.reorder import Link, Reorder
from verified_tir.kernel.theorem import Refines, reflexive

ABN = AB + ", n: T.int32"
p, q = Var.fresh("p"), Var.fresh("q")
TWO = "A[0] = 1\nB[0] = 2"
FREE, CHANGED = "is bound twice", "the body writes what bounds or guards read"
NUMBERED = "the holes are not numbered from 0 on"
AROUND = "something other than loops, branches and sequences stands around the holes"


def hole(number: int) -> Stmt:
    return Evaluate(const(number))


def link(leaf: int, at: int, g: tuple[Expr, ...] = (), h: tuple[Expr, ...] = ()) -> Link:
    return Link(leaf, at, g, h)


def loop(var: Var, extent: Expr | int, body: Stmt, low: Expr | int = 0) -> For:
    return For(var, const(low), const(extent), body)


def whole(
    new: Stmt, *links: Link, path: Path = (), count: int = 1, leaves: tuple[tuple[Path, int], ...] = ()
) -> Reorder:
    """The rule; places of leaves are given in the program."""
    depth = len(path)
    relative = [(p[depth:] if count == 1 else (p[depth - 1] - path[-1], *p[depth:]), n) for p, n in leaves]
    return Reorder(path, count, tuple(relative), new, links)


def test_each_link_has_a_value_for_each_loop() -> None:
    f = program("for i in range(2):\n    A[i] = 1\n    B[i] = 2")
    i, both = variable(f, "i"), loop(p, 2, Seq((hole(0), hole(1))))
    leaves = ((0, 0), 1), ((0, 1), 1)
    accepted(f, whole(both, link(0, 0, (p,), (i,)), link(1, 1, (p,), (i,)), leaves=leaves))
    for wrong in (link(1, 1, (Cast(INT64, p),), (i,)), link(1, 1, (p,), (Cast(INT64, i),)), link(1, 1, (p, p), (i,))):
        refused(f, whole(both, link(0, 0, (p,), (i,)), wrong, leaves=leaves), "or they differ in type")


def test_places_of_leaves_are_those_before_any_of_them_is_cut() -> None:
    f = program(TWO + "\nA[1] = 3")
    rule = Reorder((), 1, (((2,), 1), ((0,), 2)), Seq((hole(0), hole(1))), (link(1, 0), link(0, 1)))
    gives(f, rule, TWO + "\nA[1] = 3")


# -- the form ----------------------------------------------------------------------------------------------------------


def test_what_is_no_leaf_is_a_nest() -> None:
    f = program("for i in range(2):\n    A[i] = 1\n    B[i] = 2")
    i = variable(f, "i")
    both = loop(p, 2, Seq((hole(0), hole(1))))
    links = link(0, 0, (p,), (i,)), link(1, 1, (p,), (i,))
    gives(f, whole(both, *links, leaves=(((0, 0), 1), ((0, 1), 1))), "for p in range(2):\n    A[p] = 1\n    B[p] = 2")
    refused(f, whole(loop(p, 2, hole(0)), links[0], leaves=(((0, 0), 1),)), AROUND)  # a store would be lost
    refused(f, whole(both, *links, leaves=(((0, 0), 1), ((0, 0), 1))), AROUND)
    refused(f, whole(both, *links, leaves=(((0, 0), 1), ((0, 1), 2))), "there are no 1 statements after this one")
    refused(f, whole(both, *links, leaves=(((0, 0), 2), ((0, 1), 1))), "a leaf is nested in another one")
    refused(f, whole(both, *links, leaves=(((0, 0), 1), ((0, 1, 0), 1))), "no statement at step 0")
    gives(
        f, whole(loop(p, 2, hole(0)), links[0], leaves=(((0, 0), 2),)), "for p in range(2):\n    A[p] = 1\n    B[p] = 2"
    )


def test_a_sequence_directly_in_a_sequence() -> None:
    """Cutting the second leaf out would take the statements apart, and what is the first leaf would be another one."""
    f = program("for i in range(2):\n    A[i] = 1\nB[0] = 2")
    loops, last = f.body.stmts  # type: ignore[attr-defined]
    nested = f.with_body(Seq((Seq((loops,)), last)))
    i = variable(f, "i")
    links = link(0, 1), link(1, 0, (p,), (i,))
    rule = Reorder((), 1, (((1,), 1), ((0, 0), 1)), Seq((loop(p, 2, hole(0)), hole(1))), links)
    refused(nested, rule, "a sequence directly in a sequence")


def test_leaves_come_in_any_order() -> None:
    f = program("A[0] = 1\nA[1] = 2\nB[0] = 3\nB[1] = 4\nA[2] = 5")
    leaves = ((1,), 2), ((3,), 2), ((0,), 1)
    order = Seq((hole(0), hole(1), hole(2)))
    rule = whole(order, link(2, 0), link(0, 2), link(1, 1), leaves=leaves)
    gives(f, rule, "A[0] = 1\nB[1] = 4\nA[2] = 5\nA[1] = 2\nB[0] = 3")


def test_labels_are_nests_and_other_blocks_are_not_expanded() -> None:
    f = program("with T.block('b'):\n    A[0] = 1")
    leaf = (((0,), 1),)
    gives(f, whole(hole(0), link(0, 0), leaves=leaf), "A[0] = 1")
    gives(f, whole(Block.label("c", hole(0)), link(0, 0), leaves=leaf), 'with T.sblock("c"):\n    A[0] = 1')
    expanded = replace(Block.label("c", hole(0)), predicate=const(1) > 0)
    refused(f, whole(expanded, link(0, 0), leaves=leaf), "not expanded")


@pytest.mark.parametrize("text", ['T.evaluate(T.call_extern("int32", "f"))', "assert n > 0, 'no'"])
def test_an_effect_outside_of_all_leaves(text: str) -> None:
    f = program(f"if n > 0:\n    {text}\n    A[0] = 1", ABN)
    refused(f, whole(If(variable(f, "n") > 0, hole(0)), link(0, 0), leaves=(((0, 1), 1),)), AROUND)


@pytest.mark.parametrize(("number", "why"), [(0, NUMBERED), (1, "a leaf is nested in another one"), (7, NUMBERED)])
def test_a_statement_that_looks_like_a_hole(number: int, why: str) -> None:
    f = program(f"if n > 0:\n    T.evaluate({number})\n    A[0] = 1", ABN)
    one = link(0, 0)
    refused(f, whole(If(variable(f, "n") > 0, hole(0)), one, leaves=(((0, 1), 1),)), why)
    both = whole(If(variable(f, "n") > 0, Seq((hole(0), hole(1)))), one, link(1, 1), leaves=(((0, 1), 1),))
    refused(f, both, why)


def test_a_let_is_no_nest() -> None:
    f = program("A[0] = 1")
    v = Var.fresh("v")
    f = f.with_body(LetStmt(v, const(1), f.body))
    refused(f, whole(hole(0), link(0, 0), leaves=(((0,), 1),)), AROUND)
    accepted(f, whole(hole(0), link(0, 0), leaves=(((), 1),)))


def test_the_new_nest_has_holes_only() -> None:
    f = program("A[0] = 1")
    leaf = (((), 1),)
    for new in (Seq((hole(0), store(buffer(f, "A"), 2, 0))), LetStmt(p, const(1), hole(0))):
        refused(f, whole(new, link(0, 0), leaves=leaf), AROUND)
    refused(f, whole(hole(1), link(0, 0), leaves=leaf), NUMBERED)
    refused(f, whole(Seq((hole(0), hole(0))), link(0, 0), leaves=leaf), NUMBERED)
    refused(f, whole(Seq((hole(0), hole(1))), link(0, 0), leaves=leaf), "each hole must run a leaf")
    refused(f, whole(hole(0), link(0, 0), link(0, 1), leaves=leaf), "each hole must run a leaf")
    refused(f, whole(hole(0), link(1, 0), leaves=leaf), "and nothing else")
    refused(f, whole(SKIP, path=(), leaves=()), AROUND)


def test_nests_without_leaves() -> None:
    gives(program("for i in range(n):\n    if i > 2:\n        pass", ABN), whole(SKIP), "pass")
    gives(program("A[0] = 1\nfor i in range(n):\n    pass", ABN), whole(SKIP, path=(1,)), "A[0] = 1")
    f = program("A[0] = 1\nfor i in range(n // 2):\n    pass", ABN)
    n = variable(f, "n")
    gives(f, whole(loop(p, n, SKIP), path=(1,)), "A[0] = 1\nfor p in range(n):\n    pass")
    refused(f, whole(loop(p, n + n, SKIP), path=(1,)), "no overflow")


def test_variables() -> None:
    f = program("for i in range(2):\n    A[i] = 1\nfor j in range(3):\n    B[j] = 2")
    i, j = variable(f, "i"), variable(f, "j")
    leaf = (((0, 0), 1),)
    for v, fine in ((p, True), (i, True), (j, False)):
        rule = whole(loop(v, 2, hole(0)), link(0, 0, (v,), (i,)), path=(0,), leaves=leaf)
        accepted(f, rule) if fine else refused(f, rule, FREE)
    outside = whole(Seq((loop(p, 1, SKIP), loop(q, 2, hole(0)))), link(0, 0, (p,), (i,)), path=(0,), leaves=leaf)
    refused(f, outside, "variable p is not in scope")
    lost = whole(loop(q, 2, If(i < 2, hole(0))), link(0, 0, (q,), (i,)), path=(0,), leaves=leaf)
    refused(f, lost, "variable i is not in scope")
    nowhere = whole(loop(q, 2, hole(0)), link(0, 0, (q,), (p,)), path=(0,), leaves=leaf)
    refused(f, nowhere, "variable p is not in scope")
    same = Seq((loop(p, 2, SKIP), loop(p, 2, hole(0))))
    refused(f, whole(same, link(0, 0, (p,), (i,)), path=(0,), leaves=leaf), FREE)


def test_old_variables_may_change_their_roles() -> None:
    f = program("for i in range(2):\n    for j in range(3):\n        A[i] = A[i] + j")
    i, j = variable(f, "i"), variable(f, "j")
    leaf = (((0, 0), 1),)
    swapped = whole(loop(i, 3, loop(j, 2, hole(0))), link(0, 0, (j, i), (j, i)), leaves=leaf)
    gives(f, swapped, "for i, j in T.grid(3, 2):\n    A[j] = A[j] + i")
    refused(f, whole(loop(i, 3, loop(j, 2, hole(0))), link(0, 0, (i, j), (i, j)), leaves=leaf), "is an old one")


# -- each instance once ------------------------------------------------------------------------------------------------


def both_ways(c: Expr, first: int, second: int) -> Reorder:
    return whole(If(c, hole(0), hole(1)), link(first, 0), link(second, 1), leaves=(((0,), 1), ((1,), 1)))


def test_arms_change_places_with_the_condition_only() -> None:
    f = program("if n > 0:\n    A[0] = 1\nelse:\n    A[0] = 2", ABN)
    n = variable(f, "n")
    accepted(f, both_ways(n > 0, 0, 1))
    accepted(f, both_ways(n < 1, 1, 0))
    refused(f, both_ways(n > 0, 1, 0), "the branch is always taken here")
    refused(f, both_ways(n < 0, 1, 0), "the branch is always taken here")
    refused(
        f, both_ways(n > 0, 0, 0), "the branch is always taken here"
    )  # the other arm is lost, this one runs too often


def test_no_instance_is_run_twice() -> None:
    f = program("A[0] = A[0] + n", ABN)
    n = variable(f, "n")
    leaf = (((), 1),)
    apart = Seq((If(n > 0, hole(0)), If(n < 1, hole(1))))
    accepted(f, whole(apart, link(0, 0), link(0, 1), leaves=leaf))
    again = Seq((If(n > 0, hole(0)), If(n < 2, hole(1))))
    refused(f, whole(again, link(0, 0), link(0, 1), leaves=leaf), "no old iteration is run twice")
    missed = Seq((If(n > 0, hole(0)), If(n < 0, hole(1))))
    refused(f, whole(missed, link(0, 0), link(0, 1), leaves=leaf), "the statement is still run")
    refused(f, whole(SKIP, leaves=leaf), "the statement is still run")


def test_every_leaf_is_run_to_its_end() -> None:
    f = program("for i in range(4):\n    A[i] = 1\n    B[i] = 2")
    i = variable(f, "i")
    leaves = ((0, 0), 1), ((0, 1), 1)
    for first, second in ((4, 4), (3, 4), (4, 3)):
        apart = Seq((loop(p, first, hole(0)), loop(q, second, hole(1))))
        rule = whole(apart, link(0, 0, (p,), (i,)), link(1, 1, (q,), (i,)), leaves=leaves)
        accepted(f, rule) if first == second else refused(f, rule, "every old iteration of (i) is run")


def test_a_hole_that_runs_two_instances_of_one_leaf_runs_them_as_one() -> None:
    f = program("for i in range(2):\n    A[0] = A[0] + 1")
    first, second = (link(0, 0, (const(k),), ()) for k in range(2))
    refused(f, whole(hole(0), first, second, leaves=(((0,), 1),)), "no old iteration is run twice")
    both = whole(Seq((hole(0), hole(1))), first, replace(second, hole=1), leaves=(((0,), 1),))
    gives(f, both, "A[0] = A[0] + 1\nA[0] = A[0] + 1")


def test_a_hole_that_runs_two_leaves_in_turns() -> None:
    """Which of the two it runs in an iteration is said by the maps back alone."""
    f = program("for i in range(2):\n    A[i] = 1\nfor j in range(2):\n    A[j] = 1")
    i, j = [s.var for s in f.body.stmts]  # type: ignore[attr-defined]
    half = binary("floordiv", p, const(2))
    for shift, fine in ((1, True), (0, False)):
        links = link(0, 0, (half,), (i * 2,)), link(1, 0, (half,), (j * 2 + shift,))
        rule = whole(loop(p, 4, hole(0)), *links, path=(0,), count=2, leaves=(((0, 0), 1), ((1, 0), 1)))
        if fine:
            gives(f, rule, "for p in range(4):\n    A[p // 2] = 1")
        else:
            refused(f, rule, "bijection")


def test_what_is_plain_is_not_asked() -> None:
    f = program("for i in range(n):\n    A[i % 4] = 1\n    B[i % 4] = 2\nif n > 2:\n    A[0] = 1", ABN)
    i, n = variable(f, "i"), variable(f, "n")
    same = whole(loop(p, n, hole(0)), link(0, 0, (p,), (i,)), path=(0,), leaves=(((0, 0, 0), 2),))
    apart = Seq((loop(p, n, hole(0)), loop(q, n, hole(1))))
    both = ((0, 0, 0), 1), ((0, 0, 1), 1)
    rule = whole(apart, link(0, 0, (p,), (i,)), link(1, 1, (q,), (i,)), path=(0,), leaves=both)
    guarded = whole(If(n > 2, hole(0)), link(0, 0), path=(1,), leaves=(((1, 0), 1),))
    unrolled = program("for i in range(3):\n    A[i] = A[0] + i")
    copies = [link(0, k, (const(k),), ()) for k in range(3)]
    rolled_out = whole(Seq((hole(0), hole(1), hole(2))), *copies, leaves=(((0,), 1),))
    for func, plain in ((f, same), (f, rule), (f, guarded)):
        assert steps(func, plain).derivation[-1].obligations == ()
    (left,) = steps(unrolled, rolled_out).derivation[-1].obligations
    assert left.obligation.claim == "every old iteration of (i) is run"


def test_each_iteration_has_one_of_several_links() -> None:
    f = program("for i in range(3):\n    A[i] = A[0] + i")
    holes = Seq((hole(0), hole(1), hole(2)))
    links = [link(0, k, (const(k),), ()) for k in range(3)]
    accepted(f, whole(holes, *links, leaves=(((0,), 1),)))
    more = program("for i in range(4):\n    A[i] = A[0] + i")
    refused(more, whole(holes, *links, leaves=(((0,), 1),)), "every old iteration of (i) is run (Refuted)")


def test_two_instances_are_not_run_as_one() -> None:
    """The maps lead back and forth, but from both of two iterations to one."""
    f = program(f"for i in range(2):\n    A[0] = A[0] + 1\nfor j in range({2}, {2} + 2):\n    A[0] = A[0] + 1")
    g = program(body_of(f).replace("range(2, 4)", "range(1, 3)"))
    for func, fine in ((f, True), (g, False)):
        i, j = [s.var for s in func.body.stmts]  # type: ignore[attr-defined]
        links = link(0, 0, (p,), (i,)), link(1, 0, (p,), (j,))
        rule = whole(loop(p, 4 if fine else 3, hole(0)), *links, count=2, path=(0,), leaves=(((0, 0), 1), ((1, 0), 1)))
        accepted(func, rule) if fine else refused(func, rule, "no old iteration is run twice")


def test_statements_that_become_one_are_the_same() -> None:
    f = program(
        "if n > 0:\n    for k in range(2):\n        A[k] = 1\nelse:\n    for k in range(2):\n        A[k] = 1", ABN
    )
    one = whole(hole(0), link(0, 0), link(1, 0), leaves=(((0,), 1), ((1,), 1)))
    gives(f, one, "for k in range(2):\n    A[k] = 1")
    other = program(body_of(f).replace("A[k] = 1", "A[k] = 2", 1), ABN)
    refused(other, one, "the statements to be merged differ")


def test_a_statement_that_becomes_another_one_binds_no_new_variable() -> None:
    """With v for k the second statement would look as the first one does; it stores to A[v + 1] and A[v + 2]."""
    loops = (
        "for i in range(1):\n    for w in range(2):\n        A[{}] = 7\nfor k in range(1, 3):\n    for v in range(2):\n"
    )
    f = program(loops.format("w + w") + "        A[v + k] = 7")
    i, k, v = (variable(f, name) for name in "ikv")
    leaves: tuple[tuple[Path, int], ...] = (((0, 0), 1), ((1, 0), 1))
    refused(f, whole(loop(v, 3, hole(0)), link(0, 0, (v,), (i,)), link(1, 0, (v,), (k,)), leaves=leaves), "differ")
    to_come = Var("v", INT32, Var.fresh("v").uid + 1)  # the next variable of that name would have been this one
    rule = whole(loop(to_come, 3, hole(0)), link(0, 0, (to_come,), (i,)), link(1, 0, (to_come,), (k,)), leaves=leaves)
    refused(f, rule, "differ")
    same = program(loops.format("w + i") + "        A[v + k] = 7")
    i, k = variable(same, "i"), variable(same, "k")
    accepted(same, whole(loop(p, 3, hole(0)), link(0, 0, (p,), (i,)), link(1, 0, (p,), (k,)), leaves=leaves))


@pytest.mark.parametrize("extent", [-2, 0, 1, 2])
def test_extents_that_leave_nothing(extent: int) -> None:
    f = program(f"for i in range({extent}):\n    A[i] = 1")
    i = variable(f, "i")
    leaf = (((0,), 1),)
    if extent <= 0:
        gives(f, whole(SKIP, leaves=leaf), "pass")
    else:
        refused(f, whole(SKIP, leaves=leaf), "every old iteration of (i) is run")
    once = whole(hole(0), link(0, 0, (const(0),), ()), leaves=leaf)
    if extent == 1:
        gives(f, once, "A[0] = 1")
    else:
        refused(f, once, "bijection")
    longer = whole(loop(p, extent + 1, hole(0)), link(0, 0, (p,), (i,)), leaves=leaf)
    accepted(f, longer) if extent < 0 else refused(f, longer, "every new iteration is an old one of (i)")


# -- order -------------------------------------------------------------------------------------------------------------


def test_conflicts_between_leaves_and_within_one() -> None:
    text = "for i in range(4):\n    A[i] = B[{}]\n    B[i] = i"
    new = Seq((loop(p, 4, hole(0)), loop(q, 4, hole(1))))
    for index, fine in (("i", True), ("i // 2", False)):  # after it was written, by an earlier iteration
        f = program(text.format(index))
        i = variable(f, "i")
        rule = whole(new, link(0, 0, (p,), (i,)), link(1, 1, (q,), (i,)), leaves=(((0, 0), 1), ((0, 1), 1)))
        accepted(f, rule) if fine else refused(f, rule, "the two statements may change places")
    for value, fine in (("i", True), ("A[3 - i]", False)):
        f = program(f"for i in range(4):\n    A[i] = {value}")
        i = variable(f, "i")
        rule = whole(loop(p, 4, hole(0)), link(0, 0, (3 - p,), (3 - i,)), leaves=(((0,), 1),))
        accepted(f, rule) if fine else refused(f, rule, "iterations change their order")


def test_what_an_earlier_leaf_writes_is_read_by_a_later_one() -> None:
    """Where the nest begins, B[0] is 1: but the second statement does not write A[1]."""
    f = program(f"T.assume(B[0] == 1)\nB[{0}] = 0\nA[B[0] % 4] = 1\nA[0] = 2")
    g = program(body_of(f).replace("B[0] = 0", "B[1] = 0"))
    leaves = tuple(((k,), 1) for k in (1, 2, 3))
    order = Seq((hole(0), hole(2), hole(1)))
    rule = whole(order, *(link(k, k) for k in range(3)), path=(1,), count=3, leaves=leaves)
    refused(f, rule, "the two statements may change places")
    swapped = whole(Seq((hole(1), hole(0))), link(0, 0), link(1, 1), path=(2,), count=2, leaves=leaves[1:])
    accepted(g, swapped)


@pytest.mark.parametrize(
    "text", ['T.evaluate(T.call_extern("int32", "f"))', "assert n > 0, 'no'", "while n < 0:\n    pass"]
)
def test_what_nothing_moves_past(text: str) -> None:
    f = program(f"{text}\nB[0] = 2", ABN)
    rule = whole(Seq((hole(1), hole(0))), link(0, 0), link(1, 1), path=(0,), count=2, leaves=(((0,), 1), ((1,), 1)))
    refused(f, rule, "stays in its place")
    accepted(f, whole(Seq((hole(0), hole(1))), link(0, 0), link(1, 1), path=(0,), count=2, leaves=rule.leaves))


def test_iterations_that_come_to_stand_side_by_side_keep_their_order() -> None:
    """No loop is left to tell it: it is that of the statements."""
    f, free = program("for i in range(2):\n    A[i] = A[i + 1]"), program("for i in range(2):\n    A[i] = B[i + 1]")

    def run(*iterations: int) -> Reorder:
        links = [link(0, k, (const(i),)) for k, i in enumerate(iterations)]
        return whole(Seq((hole(0), hole(1))), *links, leaves=(((0,), 1),))

    accepted(f, run(0, 1))
    refused(f, run(1, 0), "iterations change their order: no dependence between the read and the write of A (Refuted)")
    accepted(free, run(1, 0))


def test_a_middle_of_a_sequence() -> None:
    f = program("A[3] = 0\nA[0] = 1\nB[0] = 2\nA[1] = A[0]")
    three = (((1,), 1), ((2,), 1), ((3,), 1))
    last_first = whole(
        Seq((hole(0), hole(2), hole(1))), *(link(k, k) for k in range(3)), path=(1,), count=3, leaves=three
    )
    gives(f, last_first, "A[3] = 0\nA[0] = 1\nA[1] = A[0]\nB[0] = 2")
    bad = whole(Seq((hole(2), hole(0), hole(1))), *(link(k, k) for k in range(3)), path=(1,), count=3, leaves=three)
    found = refused(f, bad, "the write and the read of A")
    assert found.obligation.place == (1,)  # type: ignore[union-attr]
    g = program("for k in range(2):\n    A[3] = 0\n    for i in range(2):\n        A[i] = 1\n    B[0] = A[k]")
    pair = Seq((hole(1), hole(0)))
    turned = Reorder((0, 1), 2, (((0,), 1), ((1,), 1)), pair, (link(0, 0), link(1, 1)))
    assert refused(g, turned, "may change places").obligation.place == (0, 1, 0)  # type: ignore[union-attr]
    pair = whole(Seq((hole(1), hole(0))), link(0, 0), link(1, 1), path=(0,), count=3, leaves=(((0,), 2), ((2,), 1)))
    gives(f, pair, "B[0] = 2\nA[3] = 0\nA[0] = 1\nA[1] = A[0]")
    refused(f, whole(hole(0), link(0, 0), path=(2,), count=3, leaves=(((2,), 3),)), "there are no 2 statements")


# -- what is evaluated -------------------------------------------------------------------------------------------------


def of_loaded_bounds(f: PrimFunc, low: Expr) -> Reorder:
    i = variable(f, "i")
    return whole(loop(p, 2, hole(0)), link(0, 0, (p + low,), (i - low,)), path=(1,), leaves=(((1, 0), 1),))


def test_indices_that_read_memory() -> None:
    text = "T.assume(A[0] == 1)\nfor i in range(A[0], A[0] + 2):\n    {} = 1"
    f = program(text.format("B[i]"))
    accepted(f, of_loaded_bounds(f, load(buffer(f, "A"), 0)))
    g = program(text.format("A[i]"))  # a later iteration would read what this one writes, as far as is seen
    refused(g, of_loaded_bounds(g, load(buffer(g, "A"), 0)), CHANGED)
    accepted(g, of_loaded_bounds(g, const(1)))


def test_what_is_evaluated_once_may_change_later() -> None:
    f = program("for i in range(B[0]):\n    B[i] = 7")
    i, extent = variable(f, "i"), load(buffer(f, "B"), 0)
    leaf = (((0,), 1),)
    accepted(f, whole(loop(p, extent, hole(0)), link(0, 0, (p,), (i,)), leaves=leaf))
    accepted(f, whole(If(TRUE, loop(p, extent, hole(0))), link(0, 0, (p,), (i,)), leaves=leaf))
    accepted(f, whole(Seq((loop(p, extent, hole(0)), SKIP)), link(0, 0, (p,), (i,)), leaves=leaf))
    later = whole(Seq((SKIP, loop(p, extent, hole(0)))), link(0, 0, (p,), (i,)), leaves=leaf)
    accepted(f, later)
    guarded = loop(p, extent, If(binary("lt", p, extent), hole(0)))
    refused(f, whole(guarded, link(0, 0, (p,), (i,)), leaves=leaf), CHANGED)
    twice = Seq((loop(p, extent, If(p < 1, hole(0))), loop(q, extent, If(q >= 1, hole(1)))))
    links = link(0, 0, (p,), (i,)), link(0, 1, (q,), (i,))
    refused(f, whole(twice, *links, leaves=leaf), CHANGED)
    g = program("for i in range(B[0]):\n    A[i] = 7")
    i, extent = variable(g, "i"), load(buffer(g, "B"), 0)
    twice = Seq((loop(p, extent, If(p < 1, hole(0))), loop(q, extent, If(q >= 1, hole(1)))))
    accepted(g, whole(twice, link(0, 0, (p,), (i,)), link(0, 1, (q,), (i,)), leaves=leaf))


def test_only_one_arm_is_run() -> None:
    f = program("if n > 0:\n    A[0] = 1\nelse:\n    if A[0] > 0:\n        B[0] = 1", ABN)
    c, inner = variable(f, "n") > 0, load(buffer(f, "A"), 0) > 0
    leaves = ((0,), 1), ((1, 0), 1)
    accepted(f, whole(If(c, hole(0), If(inner, hole(1))), link(0, 0), link(1, 1), leaves=leaves))
    both = Seq((If(c, hole(0)), If(binary("and", Not(c), inner), hole(1))))
    refused(f, whole(both, link(0, 0), link(1, 1), leaves=leaves), CHANGED)


def test_old_guards_that_change() -> None:
    """Whether an iteration runs is decided by the one before."""
    f = program("for i in range(4):\n    if A[i] > 0:\n        A[{}] = 0".format("3 - i"))
    i = variable(f, "i")
    rule = whole(loop(p, 4, If(load(buffer(f, "A"), p) > 0, hole(0))), link(0, 0, (p,), (i,)), leaves=(((0, 0), 1),))
    refused(f, rule, CHANGED)
    same = whole(loop(p, 4, hole(0)), link(0, 0, (p,), (i,)), leaves=(((0,), 1),))
    accepted(f, same)  # the guard is of the leaf


def test_old_guards_that_are_no_longer_there() -> None:
    """Only the first iteration stores to B: the guard is false from then on."""
    f = program("T.assume(A[0] == 1)\nfor i in range(2):\n    if A[0] > 0:\n        A[0] = 0\n        B[i] = 1")
    rule = whole(loop(p, 2, hole(0)), link(0, 0, (p,), (variable(f, "i"),)), path=(1,), leaves=(((1, 0, 0), 1),))
    refused(f, rule, CHANGED)
    g = program(body_of(f).replace("A[0] = 0", "B[3] = 0"))
    accepted(g, replace(rule, links=(link(0, 0, (p,), (variable(g, "i"),)),)))


def test_a_range_that_there_was_fits() -> None:
    f = program("A[0] = 1\nB[0] = 2", ABN)
    i, n = Var.fresh("i"), variable(f, "n")
    f = f.with_body(loop(i, n, f.body, 5))
    leaves = (((0, 0), 1), ((0, 1), 1))
    apart = Seq((loop(p, n, hole(0), 5), loop(q, n, hole(1), 5)))
    accepted(f, whole(apart, link(0, 0, (p,), (i,)), link(1, 1, (q,), (i,)), leaves=leaves))
    shifted = Seq((loop(p, n, hole(0), 5), loop(q, n, hole(1), 6)))
    rule = whole(shifted, link(0, 0, (p,), (i,)), link(1, 1, (q - 1,), (i + 1,)), leaves=leaves)
    refused(f, rule, "the loop's last value fits int32")


def test_new_nests_are_safe_where_the_old_one_did_not_run() -> None:
    f = program("for i in range(n):\n    A[i % 4] = 1", ABN)
    i, n = variable(f, "i"), variable(f, "n")
    leaf = (((0,), 1),)
    for bound in (1 // n + n, n + n - n):
        unsafe = whole(loop(p, n, If(p < bound + 1, hole(0))), link(0, 0, (p,), (i,)), leaves=leaf)
        refused(f, unsafe, "safety")
    far = whole(loop(p, n, hole(0), const(5)), link(0, 0, (p - 5,), (i + 5,)), leaves=leaf)
    refused(f, far, "the loop's last value fits int32")
    g = program("for i in range(8):\n    A[i % 4] = 1")
    i, most = variable(g, "i"), 2**31 - 1
    for low, fine in ((most - 7, True), (most - 6, False), (-most - 1, True)):
        end = whole(loop(p, 8, hole(0), low), link(0, 0, (p - low,), (i + low,)), leaves=leaf)
        accepted(g, end) if fine else refused(g, end, "the loop's last value fits int32")
    accepted(program("pass"), whole(loop(p, 0, SKIP, -most - 1)))
    i = variable(f, "i")
    near = whole(loop(p, n, hole(0), const(-5)), link(0, 0, (p + 5,), (i - 5,)), leaves=leaf)
    accepted(f, near)


def test_what_the_old_nest_evaluated_was_safe() -> None:
    text = "if n > 0:\n    if B[1 // n] > 0:\n        A[0] = 1"
    f = program(text, ABN)
    n, b = variable(f, "n"), buffer(f, "B")
    inner = load(b, binary("floordiv", const(1), n)) > 0
    leaf = (((0, 0), 1),)
    accepted(f, whole(If(binary("and", n > 0, inner), hole(0)), link(0, 0), leaves=leaf))
    refused(f, whole(If(binary("and", inner, n > 0), hole(0)), link(0, 0), leaves=leaf), "no division by zero")
    late = program("if n > 0:\n    A[1] = 0\n    if B[1 // n] > 0:\n        A[0] = 1", ABN)  # the call could have ended
    n, inner = variable(late, "n"), load(buffer(late, "B"), 1) > 0
    two = Seq((hole(0), If(inner, hole(1))))
    assert isinstance(take(whole(If(n > 0, two), link(0, 0), link(1, 1), leaves=(((0, 0), 1), ((0, 1, 0), 1))),
                           reflexive(late)), Refines) is False  # fmt: skip


def test_copies_have_binders_of_their_own() -> None:
    f = program("for i in range(2):\n    for k in range(2):\n        A[k] = i")
    copies = [link(0, k, (const(k),), ()) for k in range(2)]
    text = "for k in range(2):\n    A[k] = 0\nfor k in range(2):\n    A[k] = 1"
    made = accepted(f, whole(Seq((hole(0), hole(1))), *copies, leaves=(((0,), 1),)))
    assert body_of(made) == text
    assert variable(f, "k") is variable(made, "k")


def test_constants_are_folded_where_they_fit() -> None:
    f = program("for i in range(1):\n    A[i * 4 + 2] = i + 2147483647")
    once = whole(hole(0), link(0, 0, (const(0),), ()), leaves=(((0,), 1),))
    gives_folded(f, once, "A[2] = 2147483647")
    two = program("for i, j in T.grid(1, 4):\n    A[i * 4 + j * 1] = 1")
    inner = whole(loop(p, 4, hole(0)), link(0, 0, (const(0), p), (variable(two, "j"),)), leaves=(((0, 0), 1),))
    gives_folded(two, inner, "for p in range(4):\n    A[p] = 1")
    over = program("for i in range(1, 2):\n    A[i] = i + 2147483647")
    one = over.with_body(loop(q, 4, store(buffer(over, "A"), 1, Binary("mul", q, const(1)))))
    renamed = whole(loop(p, 4, hole(0)), link(0, 0, (p,), (q,)), leaves=(((0,), 1),))
    assert "T.Mul(p, 1)" in body_of(accepted(one, renamed))
    late = whole(hole(0), link(0, 0, (const(1),), ()), leaves=(((0,), 1),))
    gives_folded(over, late, "A[1] = T.Add(1, 2147483647)")


# -- reductions --------------------------------------------------------------------------------------------------------


def test_nothing_but_the_reduction_is_put_into_another_order() -> None:
    f = program("for k in range(4):\n    B[0] = B[0] + A[k]\nA[0] = B[0]")
    k = variable(f, "k")
    leaves = (((0, 0), 1), ((1,), 1))
    links = link(0, 0, (3 - p,), (3 - k,)), link(1, 1)
    turned = Seq((loop(p, 4, hole(0)), hole(1)))
    refused(
        f, replace(whole(turned, *links, path=(0,), count=2, leaves=leaves), any_order=True), "more than the reduction"
    )
    alone = whole(loop(p, 4, hole(0)), links[0], path=(0,), leaves=leaves[:1])
    refused(f, alone, "iterations change their order")
    accepted(f, replace(alone, any_order=True))
    short = whole(loop(p, 3, hole(0)), links[0], path=(0,), leaves=leaves[:1])
    refused(f, replace(short, any_order=True), "every old iteration of (k) is run")
    floats = program(
        body_of(f).replace("B", "G").replace("A", "F"), 'F: T.Buffer((4,), "float32"), G: T.Buffer((4,), "float32")'
    )
    again = replace(alone, links=(link(0, 0, (3 - p,), (3 - variable(floats, "k"),)),), any_order=True)
    refused(floats, again, "rounding")
    allowed = steps(licensed_for(floats, "G"), again)
    assert [b.name for b in allowed.reassociated] == ["G"]


def test_iterations_keep_their_order_when_a_loop_is_split() -> None:
    """Each iteration reads what the one before it wrote."""
    f = program("for i in range(8):\n    A[0] = A[0] + i")
    i, split = variable(f, "i"), loop(p, 2, loop(q, 4, hole(0)))
    leaves = (((0,), 1),)
    accepted(f, whole(split, link(0, 0, (p * 4 + q,), (i // 4, i % 4)), leaves=leaves))
    turned = link(0, 0, (p * 4 + (3 - q),), (i // 4, 3 - i % 4))
    refused(f, whole(split, turned, leaves=leaves), "iterations change their order")
