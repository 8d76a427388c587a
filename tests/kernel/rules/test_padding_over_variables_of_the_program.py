"""The variables in which padding is stated are not variables of the program, though they may be the same ones.

At an arbitrary place of the padding its index variables stood for that place, and so they did where the program bound
one of them: what a statement does if n > 5 was looked at with an index for n.  Then padding was declared to hold 7 in
which the program leaves 3.
"""

from __future__ import annotations

from tests.kernel.programs import PROVER, load, program, refused, store, variable, why
from verified_tir.ir.expr import Undef, Var
from verified_tir.ir.stmt import If
from verified_tir.ir.sugar import const
from verified_tir.kernel.obligation import Unproved
from verified_tir.kernel.rules.bind import Bind
from verified_tir.kernel.rules.insert import Insert
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.padding import PadValue
from verified_tir.kernel.rules.relayout import Relayout
from verified_tir.kernel.theorem import Refines, Rule, apply, reflexive
from verified_tir.schedule.edits import rewritten

PARAMS = 'A: T.Buffer((5,), "int32"), n: T.int32'
x, y = Var.fresh("x"), Var.fresh("y")


def then(theorem: Refines, rule: Rule) -> Refines:
    new = apply(rule, theorem, PROVER)
    assert isinstance(new, Refines), why(new)
    return new


def test_a_let_binds_the_variable_of_the_padding() -> None:
    start = reflexive(program("A[0] = 1", PARAMS))
    a, n = start.after.buffers[0], variable(start.after, "n")
    layout = LayoutMap((x,), (x,), (y,), (y,), (const(6),), y >= 5)
    moved = then(start, Relayout(a, layout, Undef(a.dtype)))
    new = moved.after.buffers[0]
    bound = then(moved, Bind((), y, n, replace=False))
    written = then(bound, Insert((0,), If(y > 5, store(new, 3, 5))))
    found = apply(PadValue(new, 0, const(7)), written, PROVER)
    assert isinstance(found, Unproved), "accepted, though A[5] ends as 3 where n is 6"
    assert found.obligation.claim == "the padding of A holds its value at the end"
    then(then(bound, Insert((0,), If(y > 5, store(new, 7, 5)))), PadValue(new, 0, const(7)))


def test_an_access_does_not_bind_the_variables_of_padding_that_is_forbidden() -> None:
    """Whether A[0] may be touched is asked with 0 for y; then y is n again, which is what the program adds."""
    start = reflexive(program("B[0] = A[0] + n", 'A: T.Buffer((5,), "int32"), B: T.Buffer((1,), "int32"), n: T.int32'))
    a, n = start.after.buffers[0], variable(start.after, "n")
    moved = then(start, Relayout(a, LayoutMap((x,), (x,), (y,), (y,), (const(6),), y >= 5), None))
    bound = then(moved, Bind((), y, n))
    element = load(moved.after.buffers[0], 0)
    refused(bound, rewritten((0,), (0,), element), "A[0] equals A[0] + y")
    then(bound, rewritten((0,), (0,), element + n))


def test_a_map_has_variables_of_its_own() -> None:
    """Padding that was stated of the symbol n, carried along by a map over n, would speak of an index."""
    f = program("A[0] = 1", PARAMS)
    a, n = f.buffers[0], variable(f, "n")
    for layout in (
        LayoutMap((x,), (x,), (n,), (n,), (const(6),), n >= 5),
        LayoutMap((n,), (n,), (y,), (y,), (const(6),), y >= 5),
    ):
        refused(f, Relayout(a, layout, Undef(a.dtype)), "the map's variable n is one of the program")
