"""Instances of a statement run again, or no longer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.kernel.faults import instances_share_loads, stores_change_nothing
from tests.kernel.programs import (
    AB,
    accepted,
    buffer,
    gives,
    licensed_for,
    load,
    program,
    refused,
    steps,
    store,
    unlicensed,
    variable,
)
from verified_tir.ir.buffer import Buffer
from verified_tir.ir.dtype import INT32
from verified_tir.ir.expr import Call, Expr, StringImm, Var
from verified_tir.ir.func import PrimFunc
from verified_tir.ir.stmt import SKIP, Allocate, Assert, DeclBuffer, Evaluate, If, LetStmt, While, seq
from verified_tir.ir.sugar import binary, const
from verified_tir.kernel.rules.reassociate import Reassociate
from verified_tir.kernel.rules.recompute import Recompute
from verified_tir.schedule.moves import NewLoop, recompute

STENCIL = """
t = T.alloc_buffer((16,), "int32")
for x in range(16):
    t[x] = 0
    for k in range(8):
        t[x] = t[x] + A[x, k]
for y in range(14):
    B[y] = t[y] + t[y + 2]
"""
PARAMS = 'A: T.Buffer((16, 8), "int32"), B: T.Buffer((14,), "int32")'
BEFORE_USE, PRODUCER = (0, 1, 0), (0, 0, 0)


def window(f: PrimFunc, extent: Expr | int, *guards: Expr, start: Expr | None = None) -> Recompute:
    """The elements from ``y`` on again, where they are used."""
    p = Var.fresh("p")
    y = variable(f, "y") if start is None else start
    return recompute(BEFORE_USE, PRODUCER, (NewLoop(p, const(0), const(extent)),), guards, (y + p,))


def test_the_elements_that_are_used_are_computed_again() -> None:
    f = program(STENCIL, PARAMS)
    gives(
        f,
        window(f, 3),
        """
t = T.alloc_buffer((16,), "int32")
for x in range(16):
    t[x] = 0
    for k in range(8):
        t[x] = t[x] + A[x, k]
for y in range(14):
    for p in range(3):
        t[y + p] = 0
        for k in range(8):
            t[y + p] = t[y + p] + A[y + p, k]
    B[y] = t[y] + t[y + 2]
""",
    )


def test_only_instances_that_ran_run_again() -> None:
    f = program(STENCIL, PARAMS)
    ran = "recompute: the recomputed instance has run before (Refuted)"
    refused(f, window(f, 4), ran)
    accepted(f, window(f, 4, binary("lt", variable(f, "y"), 13)))
    refused(f, window(f, 3, start=variable(f, "y") - 1), ran)
    accepted(f, window(f, 0, start=const(99)))
    accepted(f, window(f, -1, start=const(99)))


def test_parts_of_a_reduction_do_not_run_again() -> None:
    f = program(STENCIL, PARAMS)
    y, q = variable(f, "y"), Var.fresh("q")
    again = recompute(BEFORE_USE, (0, 0, 0, 1, 0), (NewLoop(q, const(0), const(8)),), (), (y, q))
    refused(f, again, "recompute: the recomputed statement writes each element of t before it reads it (Refuted)")
    refused(f, recompute(BEFORE_USE, (0, 0, 0, 0), (), (), (y,)), "no dependence between the write and the write of t")
    accepted(f, recompute(BEFORE_USE, PRODUCER, (), (), (y,)))
    accepted(f, recompute(BEFORE_USE, (0, 0), (), (), ()))


@pytest.mark.parametrize(
    ("initialised", "fine"), [("k == 0", True), ("k == 7", False), ("k <= 3", True), ("A[x, k] == 0", False)]
)
def test_an_accumulator_is_initialised_by_the_run_itself(initialised: str, fine: bool) -> None:
    text = STENCIL.replace("    t[x] = 0\n", "").replace(
        "        t[x] = t", f"        if {initialised}:\n            t[x] = 0\n        t[x] = t"
    )
    f = program(text, PARAMS)
    if fine:
        accepted(f, window(f, 3))
    else:
        refused(f, window(f, 3), "before it reads it")


def test_one_statement_may_fill_what_others_read_in_parts() -> None:
    text = """
for x in range(4):
    C[x, 0] = x
    for k in range(3):
        C[x, k + 1] = A[k]
    for k in range({}):
        B[x] = C[x, k]
for y in range(4):
    A[y] = 0
"""
    params = AB + ', C: T.Buffer((4, 5), "int32")'
    whole = recompute((1,), (0, 0), (), (), (const(3),))
    accepted(program(text.format(4), params), whole)
    accepted(program(text.format(5), params), whole)  # the last column is not its own
    f = program(text.format(5).replace("range(3)", "range(B[x])"), params)
    refused(f, whole, "before it reads it")


# ------------------------------------------------------------------------------------------------------ since then

COPY = """
for x in range(4):
    A[x] = B[x]
{}
for y in range(4):
    {}
    C[y] = A[y]
"""
ABC = AB + ', C: T.Buffer((4,), "int32")'
SINCE = "what is recomputed was not overwritten since"
NONE = "no dependence between"


@pytest.mark.parametrize(
    ("between", "within", "refusal"),
    [
        ("C[0] = 1", "C[y] = 1", None),
        ("A[0] = 1", "C[y] = 1", "write and the write of A"),
        ("B[0] = 1", "C[y] = 1", "read and the write of B"),
        ("C[0] = 1", "A[y] = 1", "write and the write of A"),
        ("C[0] = 1", "B[y] = 1", "read and the write of B"),
        ("C[0] = 1", "if y < 0:\n        B[y] = 1", None),
        ("if C[0] == 5:\n    B[0] = 1", "C[y] = 1", "read and the write of B"),
        ("while C[0] > 0:\n    A[0] = 1", "C[y] = 1", "write and the write of A"),
        ("while C[0] > 0:\n    C[0] = C[0] - 1", "C[y] = 1", None),
        ('assert C[0] > 0, "positive"', "C[y] = 1", None),
    ],
)
def test_nothing_was_stored_since(between: str, within: str, refusal: str | None) -> None:
    f = program(COPY.format(between, within), ABC)
    again = recompute((2, 0, 1), (0, 0), (), (), (variable(f, "y"),))
    if refusal is None:
        accepted(f, again)
    else:
        refused(f, again, f"{SINCE}: {NONE} the {refusal}")


def test_stores_of_earlier_iterations_count_and_those_of_later_ones_do_not() -> None:
    f = program(
        "for x in range(4):\n    A[x] = B[x]\nfor y in range(4):\n    C[y] = A[y]\n    A[y] = 0\n    C[y] = 1", ABC
    )
    y = variable(f, "y")

    def at(position: int, w: Expr) -> Recompute:
        return recompute((1, 0, position), (0, 0), (), (), (w,))

    accepted(f, at(0, y))
    accepted(f, at(1, const(3)))
    refused(f, at(0, const(0)), SINCE)
    refused(f, at(2, y), SINCE)
    accepted(f, at(1, y))


def test_other_iterations_of_the_producer() -> None:
    f = program("for x in range(3):\n    A[x] = B[x]\n    A[x + 1] = 7\nC[0] = 1", ABC)
    refused(
        f,
        recompute((1,), (0, 0, 1), (), (), (const(0),)),
        f"{SINCE}: {NONE} the write and the write of A",
    )  # A[1] was stored by x = 1
    accepted(f, recompute((1,), (0, 0, 1), (), (), (const(2),)))
    accepted(f, recompute((1,), (0, 0, 0), (), (), (const(2),)))
    g = program("for x in range(3):\n    A[x + 1] = 7\n    A[x] = B[x]\nC[0] = 1", ABC)
    accepted(g, recompute((1,), (0, 0, 1), (), (), (const(1),)))
    refused(
        g,
        recompute((1,), (0, 0, 0), (), (), (const(0),)),
        f"{SINCE}: {NONE} the write and the write of A",
    )


def test_a_run_that_stores_what_it_reads_does_not_run_again() -> None:
    f = program("for x in range(4):\n    A[x] = A[x] + 1\nB[0] = 1")
    refused(f, recompute((1,), (0, 0), (), (), (const(0),)), "before it reads it")
    neighbour = program("for x in range(3):\n    A[x] = A[x + 1] + 1\nB[0] = 1")
    refused(
        neighbour,
        recompute((1,), (0, 0), (), (), (const(0),)),
        f"{SINCE}: {NONE} the read and the write of A",
    )
    accepted(neighbour, recompute((1,), (0, 0), (), (), (const(2),)))


def test_another_view_stores_too() -> None:
    text = """
V = T.decl_buffer((2, 2), "int32", data=A.data)
for x in range(4):
    A[x] = B[x]
V[1, {}] = 0
B[0] = B[0]
"""
    again = recompute((0, 2), (0, 0, 0), (), (), (const(2),))
    refused(program(text.format(0)), again, SINCE)
    accepted(program(text.format(1)), again)


def test_undefined_results_are_results() -> None:
    f = program("for x in range(4):\n    A[x] = T.undef()\nB[0] = 1")
    accepted(f, recompute((1,), (0, 0), (), (), (const(1),)))


# ----------------------------------------------------------------------------------------------- domains and values


def test_conditions_around_the_source_held() -> None:
    text = "for x in range(4):\n    if x < n:\n        A[x] = B[x]\n    else:\n        A[x] = 0\nB[0] = B[0]"
    f = program(text, AB + ", n: T.int32")
    n = variable(f, "n")
    then, other = (0, 0, 0), (0, 0, 1)
    refused(f, recompute((1,), then, (), (), (const(1),)), "has run before (Refuted)")
    accepted(f, recompute((1,), then, (), (binary("lt", 1, n),), (const(1),)))
    refused(f, recompute((1,), other, (), (binary("lt", 1, n),), (const(1),)), "has run before (Refuted)")
    accepted(f, recompute((1,), other, (), (binary("ge", 1, n),), (const(1),)))


def test_bounds_that_are_data() -> None:
    text = "for x in range(B[0]):\n    A[x] = B[x]\n{}\nC[0] = 1"
    again = recompute((2,), (0, 0), (), (), (const(0),))
    refused(program(text.format("C[0] = 0"), ABC), again, "has run before (Refuted)")
    f = program(text.format("T.assume(B[0] > 0)"), ABC)
    accepted(f, again)
    refused(program("for x in range(A[0]):\n    A[x] = B[x]\nC[0] = 1", ABC), replace(again, path=(1,)),
            "writes what its bounds or conditions read")  # fmt: skip


def test_an_empty_loop_repeats_nothing() -> None:
    f = program("for x in range(n):\n    A[x] = 1\nB[0] = 1", AB + ", n: T.int32")
    refused(f, recompute((1,), (0, 0), (), (), (const(0),)), "has run before (Refuted)")
    p = Var.fresh("p")
    accepted(f, recompute((1,), (0, 0), (NewLoop(p, const(0), variable(f, "n")),), (), (p,)))


def test_what_is_newly_evaluated_is_safe() -> None:
    f = program("for x in range(4):\n    A[x] = 1\nfor y in range(4):\n    B[y] = 1", AB + ", n: T.int32")
    y, n = variable(f, "y"), variable(f, "n")

    def at(w: Expr, *guards: Expr) -> Recompute:
        return recompute((1, 0), (0, 0), (), guards, (w,))

    refused(f, at(y + n - n), "safety: y + n: no overflow")
    refused(f, at(y, binary("gt", 4 // n, 0)), "no division by zero")
    refused(f, at(load(buffer(f, "B"), y)), "safety: B[y] is defined")
    refused(f, at(y, binary("gt", load(buffer(f, "B"), y + 1), 0)), "in bounds")
    large = NewLoop(Var.fresh("p"), n, const(5))
    refused(f, recompute((1, 0), (0, 0), (large,), (), (y,)), "the loop's last value fits int32")
    accepted(f, at(y, binary("ne", n, 0), binary("ge", 4 // binary("max", n, 1), 0)))


def test_an_index_that_is_loaded_is_data() -> None:
    f = program("for x in range(4):\n    A[x] = x + 1\nT.assume(B[1] == 2)\nC[0] = 1", ABC)
    again = recompute((2,), (0, 0), (), (), (load(buffer(f, "B"), 1),))
    gives(f, again, """
for x in range(4):
    A[x] = x + 1
T.assume(B[1] == 2)
A[B[1]] = B[1] + 1
C[0] = 1
""")  # fmt: skip
    own = recompute((2,), (0, 0), (), (), (load(buffer(f, "A"), 1),))
    refused(f, own, "the source writes what the new bounds, conditions or values read")


# -------------------------------------------------------------------------------------------------- what fits at all


def test_places() -> None:
    f = program("A[0] = 1\nB[0] = 2")
    refused(f, recompute((0,), (1,), (), (), ()), "the source comes after the place")
    refused(f, recompute((), (0,), (), (), ()), "are not in two statements of one sequence")
    refused(f, recompute((0,), (0,), (), (), ()), "are not in two statements of one sequence")
    refused(f, recompute((2,), (0,), (), (), ()), "no statement at step 2")
    refused(f, recompute((1,), (5,), (), (), ()), "no statement at step 5")
    loop = program("for i in range(2):\n    A[i] = 1\n    B[i] = 2")
    gives(loop, recompute((0, 1), (0, 0), (), (), ()), "for i in range(2):\n    A[i] = 1\n    A[i] = 1\n    B[i] = 2")
    branches = program("if A[0] > 0:\n    B[0] = 1\nelse:\n    B[1] = 2")
    refused(branches, recompute((1,), (0,), (), (), ()), "are not in two statements of one sequence")


def test_values_fit_the_loops() -> None:
    f = program("for x in range(4):\n    A[x] = 1\nB[0] = 1")
    refused(f, recompute((1,), (0, 0), (), (), ()), "the nest has 1 loops, the map 0 expressions")
    refused(f, recompute((1,), (0, 0), (), (), (const(1, "int64"),)), "or they differ in type")
    x, p = variable(f, "x"), Var.fresh("p")
    refused(f, recompute((1,), (0, 0), (NewLoop(x, const(0), const(1)),), (), (x,)), "is bound twice")
    twice = (NewLoop(p, const(0), const(1)), NewLoop(p, const(0), const(1)))
    refused(f, recompute((1,), (0, 0), twice, (), (p,)), "is bound twice")
    refused(f, recompute((1,), (0, 0), (), (), (x,)), "x is not in scope here")


def test_names_from_around_the_source_are_out_of_scope() -> None:
    bound = program("for x in range(4):\n    v = B[x]\n    A[x] = v\nB[0] = B[0]")
    refused(bound, recompute((1,), (0, 0, 0), (), (), (const(1),)), "v is not in scope here")
    accepted(bound, recompute((1,), (0, 0), (), (), (const(1),)))
    local = program('for x in range(4):\n    t = T.alloc_buffer((1,), "int32")\n    t[0] = x\nB[0] = B[0]')
    refused(local, recompute((1,), (0, 0, 0), (), (), (const(1),)), "t is not declared here")
    beside = 'for x in range(4):\n    t = T.alloc_buffer((1,), "int32")\n    t[0] = B[{}]\n    A[x] = {}\nB[0] = B[0]'
    for index, value in (("0", "2"), ("x", "B[3]")):
        unused = program(beside.format(index, value))
        accepted(unused, recompute((1,), (0, 0, 0, 1), (), (), (const(1),)))
    guarded = program(beside.format(0, 2).replace("    A[x]", "    if t[0] > 0:\n        A[x]"))
    refused(guarded, recompute((1,), (0, 0, 0, 1, 0), (), (), (const(1),)), "writes what its bounds or conditions read")
    accepted(local, recompute((1,), (0, 0), (), (), (const(1),)))


def test_the_repeated_statement_stands_in_one_place() -> None:
    f = program("A[0] = 1\nB[0] = 2")
    hole = [Evaluate(const(k)) for k in range(2)]
    for new, fine in ((hole[0], True), (seq(*hole), False), (SKIP, False)):
        rule = Recompute((1,), (0,), new, ())
        accepted(f, rule) if fine else refused(f, rule, "the recomputed statement must stand in exactly one place")


def test_what_is_run_again_is_looked_at_where_it_runs_again() -> None:
    """B[0] was 1 before the loop, and is 3 after it."""
    text = "T.assume(B[0] == 1)\nfor x in range(2):\n    {}[0] = 3\n    A[x] = 1\nC[1] = 0"
    for written, fine in (("C", True), ("B", False)):
        f = program(text.format(written), AB + ', C: T.Buffer((4,), "int32")')
        rule = recompute((2,), (1, 0, 1), (), (), (load(buffer(f, "B"), 0),))
        accepted(f, rule) if fine else refused(f, rule, "the recomputed instance has run before")


def test_the_source_is_looked_at_where_it_ran() -> None:
    """C[0] was 0 before the loop; the source stores to A[1], which is stored to since."""
    text = "T.assume(C[0] == 0)\nfor x in range(1):\n    C[0] = 1\n    A[{}] = 1\n    A[1] = 2\nB[0] = 0"
    for index, fine in (("C[0]", False), ("0", True)):
        f = program(text.format(index), AB + ', C: T.Buffer((4,), "int32")')
        rule = recompute((2,), (1, 0, 1), (), (), (const(0),))
        accepted(f, rule) if fine else refused(f, rule, "what is recomputed was not overwritten since")


def test_everything_that_is_read_of_what_is_written_is_written_first() -> None:
    text = 'with T.block("s"):\n    A[0] = 1\n    B[0] = A[0]\n    B[1] = A[{}]\n    A[1] = 5\nB[2] = 0'
    for index, fine in ((0, True), (1, False)):
        f = program(text.format(index))
        rule = recompute((1,), (0,), (), (), ())
        accepted(f, rule) if fine else refused(f, rule, "writes each element of A before it reads it")


def test_what_comes_later_does_not_matter() -> None:
    f = program("A[0] = 1\nB[0] = 2")
    accepted(f.with_body(seq(f.body, OPAQUE)), recompute((1,), (0,), (), (), ()))


OPAQUE = Evaluate(Call(INT32, "call_extern", (StringImm("g"),)))


def test_statements_that_are_not_repeated() -> None:
    f = program("A[0] = 1\nB[0] = 2")
    a, b = buffer(f, "A"), buffer(f, "B")
    first, last = f.body.stmts  # type: ignore[attr-defined]
    again = recompute((1,), (0,), (), (), ())
    for s in (OPAQUE, seq(first, OPAQUE)):
        refused(f.with_body(seq(If(load(b, 1) > 0, s), last)), again, "an opaque call stands there")
    refused(f.with_body(seq(first, OPAQUE, last)), replace(again, path=(2,)), "an opaque call stands there")
    view = Buffer.declare("V", (2,), "int32", data=a.data)
    stays = "assertion or while loop stays in its place"
    for why, s in (
        (stays, Assert(load(b, 0) > 0, "m")),
        (stays, While(load(b, 0) > 0, first)),
        ("the source declares a view", DeclBuffer(view, store(view, 1, 0))),
    ):
        refused(f.with_body(seq(If(load(b, 1) > 0, s), last)), again, why)
    inside = While(load(b, 0) > 0, first)
    refused(f.with_body(seq(inside, last)), replace(again, source=(0, 0)), "a while loop stands around the source")


def test_binders_are_renamed() -> None:
    f = program('t = T.alloc_buffer((1,), "int32")\nt[0] = B[0]\nv = t[0]\nA[0] = v', AB)
    g = f.with_body(seq(f.body, store(buffer(f, "B"), load(buffer(f, "B"), 0), 0)))
    after = accepted(g, recompute((1,), (0,), (), (), ()))
    allocations = [s for s in after.body.stmts if isinstance(s, Allocate)]  # type: ignore[attr-defined]
    assert len(allocations) == 2 and allocations[0].buffer.data is not allocations[1].buffer.data
    lets = [a.body.stmts[1] for a in allocations]  # type: ignore[attr-defined]
    assert all(isinstance(s, LetStmt) for s in lets) and lets[0].var is not lets[1].var


def test_a_repeated_store_races() -> None:
    text = "for x in range(4):\n    A[x] = B[x]\nfor y in T.parallel(4):\n    C[y] = A[y] + A[3 - y]"
    f = program(text, ABC)
    y = variable(f, "y")
    refused(f, recompute((1, 0), (0, 0), (), (), (const(0),)), "race: the loop over y is parallel")
    refused(f, recompute((1, 0), (0, 0), (), (), (y,)), "race: the loop over y is parallel")
    accepted(program(text.replace(" + A[3 - y]", ""), ABC), recompute((1,), (0, 0), (), (), (const(0),)))


# ------------------------------------------------------------------------------------------------ the classic faults

LOCAL_GUARD = """
for i in range(2):
    t = T.alloc_buffer((1,), "int32")
    t[0] = i
    if t[0] == i:
        B[0] = i
A[0] = 1
"""


def test_a_guard_on_a_local_buffer_does_not_tell_iterations_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    f = program(LOCAL_GUARD)
    first, last = (recompute((1,), (0, 0), (), (), (const(w),)) for w in (0, 1))
    refused(f, first, f"{SINCE}: {NONE} the write and the write of B")
    accepted(f, last)
    instances_share_loads(monkeypatch)
    accepted(f, first)


STALE = """
if A[0] == 0:
    A[{}] = 1
    if A[0] == 0:
        B[0] = 5
    B[1] = 1
"""


def test_a_condition_on_memory_ends_with_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    again = recompute((0, 2), (0, 1, 0), (), (), ())
    accepted(program(STALE.format(1)), again)
    refused(program(STALE.format(0)), again, "has run before")
    stores_change_nothing(monkeypatch)
    accepted(program(STALE.format(0)), again)


def test_a_value_does_not_overflow_on_its_way() -> None:
    f = program("for x in range(4):\n    A[x] = 1\nfor y in range(4):\n    B[y] = 1", AB)
    y = variable(f, "y")
    wide = y * 1073741824 * 4 // 1073741824 // 4
    refused(f, recompute((1, 0), (0, 0), (), (), (wide,)), "no overflow")


def test_the_source_may_be_a_whole_nest() -> None:
    f = program("for x in range(4):\n    A[x] = B[x]\nC[0] = 1", ABC)
    gives(f, recompute((1,), (0,), (), (), ()), """
for x in range(4):
    A[x] = B[x]
for x in range(4):
    A[x] = B[x]
C[0] = 1
""")  # fmt: skip


def test_no_float_sum_is_reassociated_after_it_ran_again() -> None:
    """One reader would see one sum and the next another, where the original has one."""
    params = ", ".join(f'{name}: T.Buffer((8,), "float32")' for name in "ABC")
    f = program(
        "if C[0] > C[1]:\n    A[0] = 0.0\n    for k in range(8):\n        A[0] = A[0] + C[k]\nB[0] = A[0]", params
    )
    split = Reassociate((0, 0, 1), Buffer.declare("P", (2,), "float32"), (variable(f, "k") % 2,))
    again, told = recompute((1,), (0,), (), (), ()), "the recomputed statement sums into a licensed block"
    accepted(licensed_for(f, "A"), split)
    assert unlicensed(steps(f, again), "A") == (0, f"{told}: its two sums could differ")
    refused(licensed_for(f, "A"), again, told)
    accepted(licensed_for(f, "C"), again)
