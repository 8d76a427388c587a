"""hoist_expression, reduce_loop_extents, remove_no_op: goldens, near misses, and the results unchanged."""

from __future__ import annotations

import pytest

from tests.schedule.schedule_support import accepted
from verified_tir import NotApplicable, Refuted, Schedule, script
from verified_tir.schedule.tactics.hoist import HoistConditional as C
from verified_tir.schedule.tactics.hoist import HoistLetBinding as L

HEAD = '@T.prim_func\ndef f(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4,), "int32"), n: T.int32, m: T.int32):\n'


def text(body: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in body.strip("\n").splitlines())


def body(s: Schedule) -> str:
    return script(s.func.body)


# ------------------------------------------------------------------------------------------------------------- hoist

PADDING = """
for i, j in T.grid(4, 4):
    if i == 0 and j < 2:
        A[i, j] = 0.0
"""


def test_the_example_of_the_rfc() -> None:
    def steps(s: Schedule) -> None:
        assert s.hoist_expression(C.BOOLEAN_EXPRESSION) == 1
        assert body(s) == (
            "for i in range(4):\n    if i == 0:\n        for j in range(4):\n            if j < 2:\n"
            "                A[i, j] = T.float32(0.0)"
        )
        assert s.reduce_loop_extents() == 2
        assert body(s) == "for j in range(2):\n    A[0, j] = T.float32(0.0)"

    accepted(text(PADDING), steps)


def test_a_whole_condition_that_mentions_both_loops_stays() -> None:
    s = Schedule(text(PADDING))
    with pytest.raises(NotApplicable, match="nothing can be hoisted"):
        s.hoist_expression(C.IF_ELSE_STMT)


def test_both_sides_are_decided() -> None:
    program = text("""
for i in range(4):
    for j in range(4):
        A[i, j] = T.if_then_else(n > 3, 1.0, 2.0)
        if n > 3:
            A[i, j] = A[i, j] + 5.0
        else:
            A[i, j] = A[i, j] * T.if_then_else(m > i, 2.0, 3.0)
""")
    s = accepted(program, lambda s: s.hoist_expression(C.ALL))
    assert body(s) == (
        "if n > 3:\n    for i, j in T.grid(4, 4):\n        A[i, j] = T.float32(1.0)\n"
        "        A[i, j] = A[i, j] + T.float32(5.0)\n"
        "else:\n    for i in range(4):\n        if m > i:\n            for j in range(4):\n"
        "                A[i, j] = T.float32(2.0)\n                A[i, j] = A[i, j] * T.float32(2.0)\n"
        "        else:\n            for j in range(4):\n"
        "                A[i, j] = T.float32(2.0)\n                A[i, j] = A[i, j] * T.float32(3.0)"
    )
    only = accepted(program, lambda s: s.hoist_expression(C.IF_ELSE_EXPR))
    assert "if n > 3" in body(only)


def test_the_let_that_tvm_hoists_wrongly() -> None:
    program = text("for i in range(4):\n    inside = i < 3\n    if inside:\n        A[i, 0] = 0.0")
    for lets in L:
        s = Schedule(program)
        with pytest.raises(NotApplicable, match="nothing can be hoisted"):
            s.hoist_expression(C.ALL, lets)
        assert body(s).startswith("for i in range(4)")


def test_a_let_that_a_condition_needs() -> None:
    program = text("for i in range(4):\n    some = n < 3\n    if some:\n        A[i, 0] = 0.0")
    s = accepted(program, lambda s: s.hoist_expression())
    assert body(s) == (
        "some: T.let[T.bool] = n < 3\nif some:\n    for i in range(4):\n        A[i, 0] = T.float32(0.0)"
    )
    with pytest.raises(NotApplicable, match="nothing can be hoisted"):
        Schedule(program).hoist_expression(C.IF_ELSE_STMT, L.NONE)


def test_lets_by_themselves() -> None:
    program = text("""
T.assume(n >= 0 and n < 100)
for i in range(4):
    k: T.int32 = n * 2
    A[i, 0] = T.Cast("float32", k + i)
""")
    s = accepted(program, lambda s: s.hoist_expression(C.NONE, L.LET_STMT))
    assert "k: T.let[T.int32] = n * 2\nfor i in range(4)" in body(s)
    unsafe = (
        program.replace("n < 100", "n < 2147483647").replace("range(4)", "range(n)").replace("[i, 0]", "[i % 4, 0]")
    )
    with pytest.raises(Refuted):
        Schedule(unsafe)  # n * 2 does not fit where the loop runs


def test_what_may_not_be_evaluated_outside_stays() -> None:
    program = text("""
for i in range(m):
    if 4 // m > 0:
        A[0, 0] = 1.0
""")
    with pytest.raises(NotApplicable, match="nothing can be hoisted"):
        Schedule(program).hoist_expression()
    guarded = text("if m > 0:\n    for i in range(m):\n        if 4 // m > 0:\n            A[0, 0] = 1.0")
    s = accepted(guarded, lambda s: s.hoist_expression())
    assert body(s).startswith("if m > 0:\n    if 4 // m > 0:\n        for i in range(m)")


def test_conditions_about_what_the_loop_writes_stay() -> None:
    program = text("for i in range(4):\n    if B[0] > 3:\n        B[i] = 1")
    with pytest.raises(NotApplicable, match="nothing can be hoisted"):
        Schedule(program).hoist_expression(C.ALL)
    other = "for i in range(4):\n    if B[0] > 3:\n        A[i, 0] = 1.0"
    s = accepted(text(other), lambda s: s.hoist_expression(C.ALL))  # an argument holds definite values
    assert body(s).startswith("if B[0] > 3:\n    for i in range(4)")
    local = 't = T.alloc_buffer((1,), "int32")\nfor i in range(n):\n    if t[0] > 3:\n        A[i % 4, 0] = 1.0'
    with pytest.raises(NotApplicable, match="nothing can be hoisted"):  # n may be 0, and then nothing is undefined
        Schedule(text("T.assume(n <= 0)\n" + local)).hoist_expression(C.ALL)


def test_only_within_a_block() -> None:
    loops = "for i in range(4):\n    if n > 0:\n        A[i, {}] = 0.0\n"
    block = "".join(f"    {line}\n" for line in loops.format(1).splitlines())
    program = text(loops.format(0) + 'with T.sblock("second"):\n    T.reads()\n    T.writes(A[0:4, 1])\n' + block)
    s = accepted(program, lambda s: s.hoist_expression(block="second"))
    assert body(s).startswith("for i in range(4):\n    if n > 0:\n        A[i, 0]")
    assert "    if n > 0:\n        for i in range(4):\n            A[i, 1]" in body(s)


# ----------------------------------------------------------------------------------------------------------- extents


def test_bounds_on_both_sides_and_what_is_left() -> None:
    program = text("for i in range(4):\n    if i >= 1 and i < 3 and B[i] > 0:\n        A[i, 0] = 1.0")
    s = accepted(program, lambda s: s.reduce_loop_extents())
    assert body(s) == "for i in range(1, 3):\n    if B[i] > 0:\n        A[i, 0] = T.float32(1.0)"


def test_a_symbolic_bound_is_clamped() -> None:
    s = accepted(text("for i in range(4):\n    if i < n:\n        B[i] = 1"), lambda s: s.reduce_loop_extents())
    assert body(s) == "for i in range(T.max(0, T.min(n, 4))):\n    B[i] = 1"


def test_a_factor_and_a_strict_comparison() -> None:
    s = accepted(text("for i in range(4):\n    if 2 * i > 3:\n        B[i] = 1"), lambda s: s.reduce_loop_extents())
    assert body(s) == "for i in range(2, 4):\n    B[i] = 1"


@pytest.mark.parametrize(
    "loop",
    [
        "for i in range(4):\n    if i < 2:\n        B[i] = 1\n    else:\n        B[i] = 2",
        "for i in range(4):\n    if B[i] < 2:\n        B[i] = 1",
        "for i in range(4):\n    if i < 2 or n > 0:\n        B[i] = 1",
        "for i in T.vectorized(4):\n    if i < 2:\n        B[i] = 1",
    ],
)
def test_loops_that_keep_their_range(loop: str) -> None:
    with pytest.raises(NotApplicable, match="no condition of a loop's body cuts its range"):
        Schedule(text(loop)).reduce_loop_extents()


def test_parallel_loops_too() -> None:
    program = text("for i in T.parallel(4):\n    if i < 2:\n        B[i] = 1")
    assert body(accepted(program, lambda s: s.reduce_loop_extents())) == "for i in T.parallel(2):\n    B[i] = 1"


# ------------------------------------------------------------------------------------------------------------ no-ops


def test_overwritten_stores_and_nests() -> None:
    s = accepted(text("B[0] = 1\nB[0] = 2"), lambda s: s.remove_no_op())
    assert body(s) == "B[0] = 2"
    program = text("for i in range(4):\n    B[i] = 1\nfor i in range(4):\n    B[i] = {}")
    assert body(accepted(program.format(2), lambda s: s.remove_no_op())) == "for i in range(4):\n    B[i] = 2"
    kept = accepted(program.format("B[i] + 1"), lambda s: s.remove_no_op())  # the second reads what the first wrote
    assert body(kept).count("for i") == 2


def test_blocks_whose_elements_a_later_one_covers() -> None:
    first = "for i in range({}):\n    if i > 0:\n        B[i] = 1\n"
    second = "for i in range(3):\n    B[i] = 2"
    assert body(accepted(text(first.format(3) + second), lambda s: s.remove_no_op())).count("for i") == 1
    assert body(accepted(text(first.format(4) + second), lambda s: s.remove_no_op())).count("for i") == 2


def test_what_is_read_and_written_back() -> None:
    assert body(accepted(text("B[0] = B[0]\nB[1] = 2"), lambda s: s.remove_no_op())) == "B[1] = 2"
    assert body(accepted(text("B[0] = B[1]\nB[1] = 2"), lambda s: s.remove_no_op())) == "B[0] = B[1]\nB[1] = 2"


def test_known_values() -> None:
    program = """
@T.prim_func
def sum(A: T.Buffer((16,), "{0}"), B: T.Buffer((1,), "{0}")):
    T.assume(B[0] == T.{0}(0))
    B[0] = T.{0}(0)
    for i in range(16):
        B[0] = B[0] + A[i]
"""
    s = accepted(program.format("int32"), lambda s: s.remove_no_op())
    assert body(s).count("B[0] = ") == 1
    floats = accepted(program.format("float32"), lambda s: s.remove_no_op())  # -0.0 passes the assumption
    assert body(floats).count("B[0] = ") == 2


def test_the_calls_are_recorded() -> None:
    s = Schedule(text(PADDING))
    s.hoist_expression(C.BOOLEAN_EXPRESSION, let_bindings=L.NONE)
    s.reduce_loop_extents()
    s.remove_no_op()
    assert [str(r) for r in s.steps[1:]] == [
        "hoist_expression(BOOLEAN_EXPRESSION, NONE)", "reduce_loop_extents()", "remove_no_op()",
    ]  # fmt: skip
    assert all(r.call is not None and not r.call.problem for r in s.steps[1:])
