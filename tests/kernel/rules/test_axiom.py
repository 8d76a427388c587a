"""An assumption about the arguments comes in front of both programs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.kernel.programs import AB, PROVER, accepted, body_of, buffer, load, program, refused, store, variable, why
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.expr import FALSE, Broadcast, Call, Expr, Load, Ramp, Shuffle, Undef, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import Allocate, Assert, Assume, Evaluate, For, If, LetStmt, Stmt, While, seq
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.obligation import Misfit, NoMatch, Unproved
from verified_tir.kernel.rules.axiom import Axiom
from verified_tir.kernel.rules.erase import Erase
from verified_tir.kernel.rules.layout import LayoutMap
from verified_tir.kernel.rules.relayout import Relayout
from verified_tir.kernel.theorem import Refines, Rule, apply, reflexive
from verified_tir.schedule.edits import rewritten

SEVEN = 'A: T.Buffer((7,), "int32"), B: T.Buffer((7,), "int32"), n: T.int32'
TEXT = "for i in range(7):\n    B[i] = A[i] + n"


def theorem_of(text: str = TEXT, params: str = SEVEN) -> Refines:
    return reflexive(program(text, params))


def then(theorem: Refines, *rules: Rule) -> Refines:
    for rule in rules:
        new = apply(rule, theorem, PROVER)
        assert isinstance(new, Refines), why(new)
        theorem = new
    return theorem


def for_all(b: Buffer, condition: Callable[[Var], Expr], extent: Expr | int | None = None) -> For:
    i = Var.fresh("i")
    return For(i, const(0), b.shape[0] if extent is None else const(extent), Assume(condition(i)))


def tiled(b: Buffer, width: int, pad: Expr | None = None) -> Relayout:
    """``i -> [i // width, i % width]`` for seven elements."""
    x, y, z = Var.fresh("x"), Var.fresh("y"), Var.fresh("z")
    rows = -(-7 // width)
    element = binary("add", y * width, z)
    return Relayout(
        b,
        LayoutMap((x,), (x // width, x % width), (y, z), (element,), (const(rows), const(width)), element >= 7),
        pad,
    )


def test_both_programs_begin_with_it() -> None:
    start = theorem_of()
    a = start.after.buffer_named("A")
    theorem = then(start, Axiom(for_all(a, lambda i: load(a, i) >= 0)))
    text = "for i in range(7):\n    T.assume(A[i] >= 0)\nfor i in range(7):\n    B[i] = A[i] + n"
    assert body_of(theorem.before) == body_of(theorem.after) == text
    assert theorem.start is start.before
    (only,) = theorem.assumed
    assert isinstance(only, For)
    assert theorem.before.buffers is start.before.buffers or theorem.before.buffers == start.before.buffers


def test_loads_follow_the_layouts() -> None:
    """Through two layout changes, also where the index is itself loaded."""
    start = theorem_of()
    a, b = start.before.buffers
    moved = then(start, tiled(a, 3, Undef(const(0).dtype)))
    twice = LayoutMap(*_rows_and_columns_exchanged())
    moved = then(moved, Relayout(moved.after.buffers[0], twice, None))
    theorem = then(moved, Axiom(Assume(binary("and", load(b, 0) >= 0, binary("and", load(b, 0) < 7, True)))))
    theorem = then(theorem, Axiom(Assume(Load(a, (load(b, 0),)) > load(a, 6))))
    assert body_of(theorem.before).splitlines()[:2] == [
        "T.assume(B[0] >= 0 and (B[0] < 7 and T.bool(True)))",
        "T.assume(A[B[0]] > A[6])",
    ]
    assert body_of(theorem.after).splitlines()[:2] == [
        "T.assume(A[B[0] % 3, B[0] // 3] > A[T.FloorMod(6, 3), T.FloorDiv(6, 3)])",
        "T.assume(B[0] >= 0 and (B[0] < 7 and T.bool(True)))",
    ]


def _rows_and_columns_exchanged() -> tuple[
    tuple[Var, ...], tuple[Expr, ...], tuple[Var, ...], tuple[Expr, ...], tuple[Expr, ...], Expr
]:
    x, y, p, q = (Var.fresh(name) for name in "xypq")
    return (x, y), (y, x), (p, q), (q, p), (const(3), const(3)), FALSE


def test_the_next_steps_may_use_it() -> None:
    """``A[i] < 0`` is false everywhere; without the assumption nothing is known."""
    start = theorem_of("for i in range(7):\n    B[i] = T.Select(A[i] < 0, 1, 2)")
    a = start.before.buffers[0]
    better = rewritten((0, 0), (0,), const(2))
    assert not isinstance(apply(better, start, PROVER), Refines)
    theorem = then(start, Axiom(for_all(a, lambda i: load(a, i) >= 0)))
    then(theorem, rewritten((1, 0), (0,), const(2)))


def test_it_is_about_values_at_entry() -> None:
    """``A`` is written before the branch: what was assumed of it says nothing any longer."""
    start = theorem_of("A[3] = n\nfor i in range(7):\n    B[i] = T.Select(A[i] < 0, 1, 2)")
    a = start.before.buffers[0]
    theorem = then(start, Axiom(for_all(a, lambda i: load(a, i) >= 0)))
    found = apply(rewritten((2, 0), (0,), const(2)), theorem, PROVER)
    assert isinstance(found, Unproved)


def test_it_may_be_erased_again_and_stays_in_the_theorem() -> None:
    start = theorem_of()
    theorem = then(start, Axiom(Assume(variable(start.before, "n") >= 4)), Erase((0,)))
    assert body_of(theorem.before).startswith("T.assume(n >= 4)")
    assert body_of(theorem.after) == TEXT
    again = then(theorem, Axiom(Assume(variable(start.before, "n") < 9)))
    assert body_of(again.before).splitlines()[:2] == ["T.assume(n >= 4)", "T.assume(n < 9)"]
    assert body_of(again.after).splitlines()[0] == "T.assume(n < 9)"


def test_what_is_assumed_may_rest_on_what_was_assumed_before() -> None:
    start = theorem_of()
    n, a = variable(start.before, "n"), start.before.buffers[0]
    second = Axiom(Assume(load(a, n) > 0))
    found = apply(second, start, PROVER)
    assert isinstance(found, Unproved) and found.obligation.claim == "A[n]: in bounds"
    then(start, Axiom(Assume(binary("and", n >= 0, n < 7))), second)


@pytest.mark.parametrize(
    ("condition", "claim"),
    [
        (lambda a, n: load(a, 7) > 0, "A[7]: in bounds"),
        (lambda a, n: load(a, n) > 0, "A[n]: in bounds"),
        (lambda a, n: (n + 1) > 0, "n + 1: no overflow"),
        (lambda a, n: (const(7) // n) > 0, "7 // n: no division by zero"),
        (lambda a, n: Undef(const(0).dtype) > 0, 'T.undef(dtype="int32") > 0: a branch on undef'),
        (lambda a, n: load(a, Undef(const(0).dtype)) > 0, 'A[T.undef(dtype="int32")]'),
    ],
)
def test_what_cannot_be_evaluated_is_refused(condition: Callable[[Buffer, Var], Expr], claim: str) -> None:
    f = program(TEXT, SEVEN)
    found = refused(f, Axiom(Assume(condition(f.buffers[0], variable(f, "n")))), "safety: ")
    assert isinstance(found, Unproved) and found.obligation.claim.startswith(claim), found.obligation.claim


def test_loops_that_reach_too_far() -> None:
    params = 'a: T.handle, B: T.Buffer((7,), "int32"), m: T.int32'
    f = program('A = T.match_buffer(a, (m,), "int32")\nB[0] = m', params)
    a, m = f.buffers[0], variable(f, "m")
    accepted(f, Axiom(for_all(a, lambda i: load(a, i) >= 0)))  # also if there is no element
    refused(f, Axiom(for_all(a, lambda i: load(a, i) >= 0, extent=1)), "safety: A[i]: in bounds")
    refused(f, Axiom(for_all(a, lambda i: load(a, m - i) >= 0)), "safety: A[m - i]: in bounds")
    accepted(f, Axiom(for_all(a, lambda i: load(a, m - i - 1) >= 0)))


def loops_of_threads(f: PrimFunc) -> Stmt:
    i = Var.fresh("i")
    return For(i, const(0), const(7), Assume(load(f.buffers[0], i) >= 0), "parallel")


@pytest.mark.parametrize(
    ("stmt", "reason"),
    [
        (lambda f: store(f.buffers[0], 1, 0), "contain Store"),
        (lambda f: seq(Assume(variable(f, "n") >= 0), store(f.buffers[0], 1, 0)), "contain Store"),
        (lambda f: Assert(variable(f, "n") >= 0, "text"), "contain Assert"),
        (lambda f: While(variable(f, "n") >= 0, Assume(variable(f, "n") >= 0)), "contain While"),
        (lambda f: seq(Assume(variable(f, "n") >= 0), Evaluate(const(1))), "contain Evaluate"),
        (lambda f: Allocate(Buffer.declare("t", (1,), "int32"), Assume(variable(f, "n") >= 0)), "contain Allocate"),
        (lambda f: Assume(Call(FALSE.dtype, "elsewhere", (variable(f, "n"),))), "opaque call"),
        (lambda f: Assume(Var.fresh("k") >= 0), "variable k is not in scope"),
        (
            lambda f: Assume(load(Buffer.declare("C", (4,), "int32"), 0) >= 0),
            "buffer C is used outside of its lifetime",
        ),
        (
            lambda f: Assume(load(f.buffers[0].with_data(f.buffers[0].data, "view"), 0) >= 0),
            "buffer view is not declared here",
        ),
    ],
)
def test_what_is_no_assumption_about_the_arguments(stmt: Callable[[PrimFunc], Stmt], reason: str) -> None:
    f = program(TEXT, SEVEN)
    refused(f, Axiom(stmt(f)), reason)


def test_a_view_is_not_there_at_the_head_of_the_program() -> None:
    viewed = theorem_of("v = T.decl_buffer((7,), 'int32', data=A.data)\nB[0] = v[0]")
    refused(viewed, Axiom(Assume(load(buffer(viewed.after, "v"), 0) >= 0)), "buffer v is not declared here")


def test_loops_of_threads_mean_what_serial_ones_do() -> None:
    f = program(TEXT, SEVEN)
    assert "for i in T.parallel(7):\n    T.assume(A[i] >= 0)" in body_of(accepted(f, Axiom(loops_of_threads(f))))


def test_lanes_run_over_the_last_index_before_and_after() -> None:
    start = theorem_of()
    a = start.before.buffers[0]
    lanes = Load(a, (Ramp(const(3), const(1), 3),))
    rule = Axiom(Assume(binary("ge", Shuffle((lanes,), (0,)), 0)))
    assert "A[T.Ramp(3, 1, 3)]" in body_of(then(start, rule).after)
    found = apply(rule, then(start, tiled(a, 4, Undef(const(0).dtype))), PROVER)
    assert isinstance(found, NoMatch) and "operands of floordiv differ in type" in found.reason


def test_conditions_and_lets_around_it() -> None:
    f = program(TEXT, SEVEN)
    x, n = Var.fresh("x"), variable(f, "n")
    text = accepted(f, Axiom(If(n > 3, LetStmt(x, load(f.buffers[0], 0), Assume(x > n)))))
    assert body_of(text).startswith("if n > 3:\n    x: T.let[T.int32] = A[0]\n    T.assume(x > n)\n")


def test_a_local_buffer_is_no_argument() -> None:
    f = program('t = T.alloc_buffer((4,), "int32")\nt[0] = A[0]\nB[0] = t[0]', AB)
    refused(f, Axiom(Assume(load(buffer(f, "t"), 0) >= 0)), "buffer t is used outside of its lifetime")


def test_it_speaks_of_the_program_as_it_was_written() -> None:
    """Not of the parameters as they are now, whose padding it could mention."""
    start = theorem_of()
    moved = then(start, tiled(start.before.buffers[0], 4, Undef(const(0).dtype)))
    now = moved.after.buffers[0]
    found = apply(Axiom(Assume(load(now, 1, 3) > 0)), moved, PROVER)
    assert isinstance(found, NoMatch) and "buffer A is used outside of its lifetime" in found.reason


def test_a_symbol_that_is_gone() -> None:
    """``m`` is shown by no shape after the layout change, and nothing uses it: the new program does not know it."""
    params = 'a: T.handle, B: T.Buffer((7,), "int32")'
    f = program('m = T.int32()\nA = T.match_buffer(a, (m,), "int32")\nB[0] = 1', params)
    a = f.buffers[0]
    m = a.shape[0]
    assert isinstance(m, Var)
    x, y, z = Var.fresh("x"), Var.fresh("y"), Var.fresh("z")
    element = binary("add", y * 4, z)
    layout = LayoutMap((x,), (x // 4, x % 4), (y, z), (element,), ((m + 3) // 4, const(4)), element >= m)
    moved = then(reflexive(f), Relayout(a, layout, None))
    then(moved, Axiom(Assume(m >= 4)))  # it became a parameter


def test_contradictions_leave_no_input() -> None:
    start = theorem_of()
    n = variable(start.before, "n")
    theorem = then(start, Axiom(Assume(n >= 4)))
    for condition in (n < 4, binary("lt", n, n), FALSE):
        found = apply(Axiom(Assume(condition)), theorem, PROVER)
        assert isinstance(found, NoMatch) and "no input satisfies them" in found.reason


def test_it_is_a_step_of_its_own() -> None:
    f = program(TEXT, SEVEN)
    with pytest.raises(Misfit, match="a step of its own"):
        Axiom(Assume(variable(f, "n") >= 4)).rewrite(f, reflexive(f).entry)


@pytest.mark.parametrize(("pole", "fine"), [(6, False), (7, False), (8, True)])
def test_indices_are_evaluated_in_masked_lanes(pole: int, *, fine: bool) -> None:
    """``x + 5 // (pole - x) * 0`` is x, dividing by zero at the pole; of lanes 4 to 7 those below 6 are taken."""
    start = theorem_of("B[0] = A[0]", SEVEN.replace("7", "6"))
    a, x, y = start.after.buffers[0], Var.fresh("x"), Var.fresh("y")
    index = x + binary("floordiv", const(5), pole - x) * 0
    moved = then(start, Relayout(a, LayoutMap((x,), (index,), (y,), (y,), (const(6),), FALSE), None))
    lanes = Ramp(const(4), const(1), 4)
    taken = binary("lt", lanes, Broadcast(const(6), 4))
    found = apply(Axiom(Assume(binary("eq", Shuffle((Load(a, (lanes,), taken),), (0,)), const(3)))), moved, PROVER)
    if fine:
        assert isinstance(found, Refines)
        return
    assert not isinstance(found, Refines) and "no division by zero (Refuted)" in why(found)


def test_masked_lanes_of_what_was_not_moved_are_as_they_were() -> None:
    """That n is not 0 was assumed before; where moved indices are evaluated, in front of the program, it is not."""
    start = theorem_of("B[0] = A[0]")
    a, n = start.after.buffers[0], variable(start.after, "n")
    positive = then(start, Axiom(Assume(n >= 1)))
    lanes = Ramp(binary("floordiv", const(5), n), const(1), 4)
    taken = Load(a, (lanes,), binary("lt", lanes, Broadcast(const(7), 4)))
    condition = Assume(binary("eq", Shuffle((taken,), (0,)), const(3)))
    then(positive, Axiom(condition))
    found = apply(Axiom(condition), start, PROVER)
    assert not isinstance(found, Refines) and "no division by zero (Refuted)" in why(found)
