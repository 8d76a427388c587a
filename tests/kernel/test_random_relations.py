"""Random programs between random relations: what ``axiom`` and ``padding`` let a theorem say is true when it is run.

A program on a padded buffer is drawn, and a value for the padding, or an assumption about the arguments.  If the rule
is accepted, the theorem is looked at with the interpreter: on memories that are related, at entry and at exit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from tests.kernel.programs import PROVER, function, load, store
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import Expr, Select, Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Assume, For, If, Stmt, seq
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.refines import _made, statement_of
from verified_tir.kernel.rules.axiom import Axiom
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.padding import PadValue
from verified_tir.kernel.rules.relayout import Relayout
from verified_tir.kernel.theorem import Refines, apply, reflexive
from verified_tir.semantics.interpreter import UndefinedBehaviour, run

SETTINGS = settings(
    max_examples=60, deadline=None, database=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
EXTENT = 3
"""Elements of ``A``, which live at 0, 1 and 2 of four places after the layout change, shifted by the draw."""


def small(draw: Any, loops: list[Var], extent: int) -> Expr:
    """An index that is in bounds."""
    term: Expr = const(draw(st.integers(0, extent - 1)))
    for v in loops:
        if draw(st.booleans()):
            term = binary("add", term, v)
    return term % extent if loops else term


def number(draw: Any, a: Buffer, n: Var, loops: list[Var], extent: int) -> Expr:
    kind = draw(st.sampled_from(["constant", "load", "load", "sum", "n", "choice", "undef"]))
    if kind == "constant":
        return const(draw(st.integers(0, 2)))
    if kind == "n":
        return n
    if kind == "load":
        return load(a, small(draw, loops, extent))
    if kind == "undef" and draw(st.integers(0, 3)) == 0:
        return Undef(n.dtype)
    x, y = load(a, small(draw, loops, extent)), const(draw(st.integers(0, 1)))
    return binary("add", x, y) if kind != "choice" else Select(n > 1, x, y)


def statements(draw: Any, a: Buffer, n: Var, loops: list[Var], extent: int, depth: int = 2) -> Stmt:
    made: list[Stmt] = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["store", "store", "loop", "if"] if depth else ["store"]))
        if kind == "store":
            made.append(store(a, number(draw, a, n, loops, extent), small(draw, loops, extent)))
        elif kind == "loop":
            v = Var.fresh("i")
            body = statements(draw, a, n, [*loops, v], extent, depth - 1)
            made.append(For(v, const(0), draw(st.sampled_from([const(2), const(4), const(1), n])), body))
        else:
            made.append(If(n > draw(st.integers(0, 2)), statements(draw, a, n, loops, extent, depth - 1)))
    return seq(*made)


def shifted(a: Buffer, by: int, pad: Expr | None) -> Relayout:
    """``x -> x + by`` in four places, one of them padding."""
    x, y = Var.fresh("x"), Var.fresh("y")
    outside = binary("or", y < by, y >= by + EXTENT)
    return Relayout(a, LayoutMap((x,), (x + by,), (y,), (y - by,), (const(4),), outside), pad)


def memories(shape: int) -> Iterator[Any]:
    rng = np.random.default_rng(0)
    for k in range(6):
        yield np.arange(shape, dtype=np.int32) if k == 0 else rng.integers(-2, 4, shape).astype(np.int32)


def outcome(func: PrimFunc, array: Any, n: int, defined: Any = None) -> Any:
    """The run's outcome, or ``None`` if it has no meaning."""
    try:
        return run(func, {"A": array, "n": n}, defined={} if defined is None else {"A": defined})
    except UndefinedBehaviour:
        return None


@pytest.mark.nightly
@SETTINGS
@given(st.data())
def test_padding_holds_its_value_at_exit(data: Any) -> None:
    draw, n, by = data.draw, Var.fresh("n"), data.draw(st.integers(0, 1))
    place = 0 if by else 3
    before = Buffer.declare("A", (EXTENT,), "int32")
    start = apply(shifted(before, by, Undef(n.dtype)), reflexive(function((before, n), seq())), PROVER)
    assert isinstance(start, Refines)
    a = start.after.buffers[0]
    func = start.after.with_body(statements(draw, a, n, [], 4))
    theorem = _about(start, func)
    value = number(draw, a, n, [], 4) if draw(st.booleans()) else load(a, draw(st.integers(0, 3)))
    found = apply(PadValue(a, 0, value), theorem, PROVER)
    if not isinstance(found, Refines):
        event("refused")
        return
    event("accepted")
    (padding,) = found.paddings
    assert padding.value is not None
    wanted = found.after.with_body(store(found.after.buffers[0], padding.value, place))
    for array in memories(4):
        for size in (0, 1, 3):
            array[place] = outcome(wanted, array.copy(), size).arrays["A"][place]  # the value as it is at entry
            ran = outcome(found.after, array.copy(), size)
            if ran is None:
                continue
            then = outcome(wanted, ran.arrays["A"].copy(), size, ran.defined["A"])
            if then is not None and then.defined["A"][place]:
                assert ran.defined["A"][place]
                assert then.arrays["A"][place] == ran.arrays["A"][place]


def _about(theorem: Refines, func: PrimFunc) -> Refines:
    """The theorem with another last program, as if steps had led to it: the rule is asked about that one."""
    return _made(replace(statement_of(theorem), after=func))


def condition(draw: Any, a: Buffer, n: Var, loops: list[Var]) -> Expr:
    x = number(draw, a, n, loops, EXTENT) if draw(st.integers(0, 4)) else load(a, n)
    op = draw(st.sampled_from(["ge", "lt", "eq", "ne"]))
    found = binary(op, x, draw(st.integers(-1, 2)))
    return binary(draw(st.sampled_from(["and", "or"])), n >= draw(st.integers(0, 2)), found) if draw(
        st.booleans()) else found  # fmt: skip


def assumption(draw: Any, a: Buffer, n: Var, loops: list[Var], depth: int = 2) -> Stmt:
    kind = draw(st.sampled_from(["one", "loop", "if", "two"] if depth else ["one"]))
    if kind == "loop":
        v = Var.fresh("i")
        return For(v, const(0), draw(st.sampled_from([const(EXTENT), n, const(1)])),
                   assumption(draw, a, n, [*loops, v], depth - 1))  # fmt: skip
    if kind == "if":
        return If(n > draw(st.integers(0, 2)), assumption(draw, a, n, loops, depth - 1))
    if kind == "two":
        return seq(assumption(draw, a, n, loops, 0), assumption(draw, a, n, loops, 0))
    return Assume(condition(draw, a, n, loops))


@SETTINGS
@given(st.data())
def test_assumptions_in_front_of_both_programs(data: Any) -> None:
    """Where the first has a meaning the second has one, and the same results; and the assumption can be evaluated."""
    draw, n, by = data.draw, Var.fresh("n"), data.draw(st.integers(0, 1))
    before = Buffer.declare("A", (EXTENT,), "int32")
    func = function((before, n), statements(draw, before, n, [], EXTENT))
    theorem = apply(shifted(before, by, None), reflexive(func), PROVER)
    assert isinstance(theorem, Refines)
    for _ in range(draw(st.integers(1, 2))):
        new = apply(Axiom(assumption(draw, before, n, [])), theorem, PROVER)
        if not isinstance(new, Refines):
            event("refused")
            continue
        event("accepted")
        theorem = new
    inaccessible = np.ones(4, bool)
    inaccessible[by : by + EXTENT] = False
    for array in memories(EXTENT):
        for size in (0, 1, 3):
            one = outcome(theorem.before, array.copy(), size)
            if one is None:
                continue
            packed = np.full(4, 77, np.int32)
            packed[by : by + EXTENT] = array
            other = run(theorem.after, {"A": packed, "n": size}, inaccessible={"A": inaccessible})
            same = other.arrays["A"][by : by + EXTENT] == one.arrays["A"]
            assert (same | ~one.defined["A"]).all()
            assert (other.defined["A"][by : by + EXTENT] | ~one.defined["A"]).all()
