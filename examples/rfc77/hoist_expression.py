"""RFC 77, "New Transform - Hoist Expression": conditions and let bindings leave loops, by two sets of flags."""

from displayed import assert_structural_equal

from verified_tir import HoistConditional, HoistLetBinding, NotApplicable, Schedule, expect_refusal, schedule
from verified_tir.script import tir as T


@T.prim_func
def bound_in_the_loop(A: T.Buffer((4,), "float32")):
    for i in T.serial(4):
        is_in_bounds = i < 3
        if is_in_bounds:
            A[i] = 0.0


@schedule(bound_in_the_loop)
def a_condition_bound_in_the_loop(s: Schedule) -> None:
    """HoistIfThenElse takes the condition out of the loop, and leaves behind the let that says what it is."""
    with expect_refusal(s) as refusals:
        s.hoist_expression()
    assert isinstance(refusals[0], NotApplicable)
    assert_structural_equal(s, bound_in_the_loop)


@T.prim_func
def bound_outside(A: T.Buffer((4,), "float32"), n: T.int32):
    for i in T.serial(4):
        is_small = n < 3
        if is_small:
            A[i] = 0.0


@T.prim_func
def hoisted_with_its_binding(A: T.Buffer((4,), "float32"), n: T.int32):
    is_small = n < 3
    if is_small:
        for i in T.serial(4):
            A[i] = 0.0


@schedule(bound_outside)
def required_by_a_condition(s: Schedule) -> None:
    """A let that does not depend on the loop leaves it together with the condition that needs it..."""
    with expect_refusal(s):
        s.hoist_expression(HoistConditional.IF_ELSE_STMT, HoistLetBinding.NONE)
    s.hoist_expression(HoistConditional.IF_ELSE_STMT, HoistLetBinding.REQUIRED_BY_CONDITION)
    assert_structural_equal(s, hoisted_with_its_binding)


@T.prim_func
def padding(A: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        if i == 0 and j < 2:
            A[i, j] = 0.0


@T.prim_func
def part_of_a_condition(A: T.Buffer((4, 4), "float32")):
    for i in T.serial(4):
        if i == 0:
            for j in T.serial(4):
                if j < 2:
                    A[i, j] = 0.0


@schedule(padding)
def boolean_expressions(s: Schedule) -> None:
    """The whole condition depends on the inner loop; one of its parts does not."""
    with expect_refusal(s):
        s.hoist_expression(HoistConditional.IF_ELSE_STMT)
    s.hoist_expression(HoistConditional.BOOLEAN_EXPRESSION)
    assert_structural_equal(s, part_of_a_condition)


@T.prim_func
def expression(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
    for i in T.serial(16):
        B[i] = T.if_then_else(n < 3, A[i], 0.0)


@T.prim_func
def expression_hoisted(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
    if n < 3:
        for i in T.serial(16):
            B[i] = A[i]
    else:
        for i in T.serial(16):
            B[i] = 0.0


@schedule(expression)
def conditions_of_expressions(s: Schedule) -> None:
    """The condition of an ``if_then_else``."""
    s.hoist_expression(HoistConditional.IF_ELSE_EXPR)
    assert_structural_equal(s, expression_hoisted)


@T.prim_func
def lets(A: T.Buffer((16,), "int32"), n: T.int32):
    for i in T.serial(16):
        A[i] = i + T.Let(m * m, where={m: n % 16})  # noqa: F821


@T.prim_func
def let_hoisted(A: T.Buffer((16,), "int32"), n: T.int32):
    m = n % 16
    for i in T.serial(16):
        A[i] = i + m * m


@schedule(lets)
def lets_within_expressions(s: Schedule) -> None:
    """A let in an expression that does not depend on the loop."""
    s.hoist_expression(HoistConditional.NONE, HoistLetBinding.LET_EXPR)
    assert_structural_equal(s, let_hoisted)
