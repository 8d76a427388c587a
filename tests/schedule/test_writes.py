"""bind_expr, inline_let, split_write, merge_writes: results, refusals, and that they undo each other."""

from __future__ import annotations

from tests.schedule.schedule_support import accepted, not_applicable, refused
from verified_tir import Schedule

HEAD = """
@T.prim_func
def f(A: T.Buffer((16,), "{t}"), C: T.Buffer((17,), "{t}"), D: T.Buffer((16,), "{t}")):
"""


def program(body: str, dtype: str = "float32") -> str:
    return HEAD.replace("{t}", dtype) + "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))


def body(s: Schedule) -> str:
    return s.script().split("):\n", 1)[1] + "\n"


TWICE = """
for i in range(16):
    with T.block("w"):
        C[i] = A[i] * 2.0 + A[i]
        D[i] = A[i] * 2.0
"""


def test_a_name_and_back() -> None:
    s = accepted(program(TWICE), lambda s: s.bind_expr("w", "A[i]*2.0", "x"))
    assert (
        body(s)
        == """\
    for i in range(16):
        with T.sblock("w"):
            x: T.let[T.float32] = A[i] * T.float32(2.0)
            C[i] = x + A[i]
            D[i] = x
"""
    )
    s.inline_let("x")
    assert s.script() == Schedule(program(TWICE)).script()


def test_a_buffer_and_back() -> None:
    s = accepted(program(TWICE), lambda s: s.bind_expr("w", "(A[i] * 2.0)", "x", "local"))
    assert (
        body(s)
        == """\
    for i in range(16):
        with T.sblock("w"):
            x = T.alloc_buffer((1,), "float32", scope="local")
            with T.sblock("x"):
                x[0] = A[i] * T.float32(2.0)
            C[i] = x[0] + A[i]
            D[i] = x[0]
"""
    )
    s.compute_inline("x")
    assert s.script() == Schedule(program(TWICE)).script()


def test_out_of_a_loop_that_does_not_change_it() -> None:
    text = program('with T.block("w"):\n    for i in range(16):\n        D[i] = A[0] * 2.0 + A[i]')
    s = accepted(text, lambda s: s.bind_expr("w", "A[0] * 2.0", "x"))
    assert body(s).index("x: T.let") < body(s).index("for i")


def test_an_accumulator_read_once() -> None:
    text = program('for i in range(16):\n    with T.block("w"):\n        C[i] = C[i] * C[i]')
    s = accepted(text, lambda s: s.bind_expr("w", "C[i]", "x"))
    assert "C[i] = x * x" in body(s)


def test_what_may_not_be_evaluated_early() -> None:
    text = program('for i in range(17):\n    with T.block("w"):\n        if i < 16:\n            C[i] = A[i]')
    refused(text, lambda s: s.bind_expr("w", "A[i]", "x"), "A[i]: in bounds")


def test_expressions_by_their_text() -> None:
    not_applicable(program(TWICE), lambda s: s.bind_expr("w", "A[i] * 3.0", "x"), "there is no expression A[i] * 3.0")
    text = program(
        'with T.block("w"):\n    for i in range(16):\n        D[i] = A[i]\n    for i in range(16):\n        C[i] = A[i]'
    )
    not_applicable(text, lambda s: s.bind_expr("w", "A[i]", "x"), "2 expressions of different variables")
    not_applicable(program(TWICE), lambda s: s.inline_let("x"), "there is no let called 'x'")


def test_a_let_expression() -> None:
    text = program("for i in range(16):\n    C[i] = T.Let(y * y, where={y: A[i]})".replace("y", "y"))
    text = program('y = T.var("float32")\nfor i in range(16):\n    C[i] = T.Let(y * y, where={y: A[i]})')
    s = accepted(text, lambda s: s.inline_let("y"))
    assert "C[i] = A[i] * A[i]" in body(s)


SUM = 'for i in range(16):\n    with T.block("w"):\n        C[i] = A[i] + D[i]'


def test_two_steps_and_one() -> None:
    s = accepted(program(SUM), lambda s: s.split_write("w"))
    assert (
        body(s)
        == """\
    for i in range(16):
        with T.sblock("w"):
            with T.sblock("w_0"):
                C[i] = A[i]
            with T.sblock("w_1"):
                C[i] = C[i] + D[i]
"""
    )
    s.merge_writes("w_0", "w_1")
    assert "C[i] = A[i] + D[i]" in body(s) and s.blocks == ["w", "w_1"]


def test_two_steps_need_an_operator() -> None:
    not_applicable(
        program(SUM.replace("A[i] + D[i]", "A[i]")), lambda s: s.split_write("w"), "no sum, product or the like"
    )


PAIR = """
for i in range(16):
    with T.block("u"):
        C[i] = {first}
    {between}
    with T.block("v"):
        C[i{where}] = {second}
"""


def pair(first: str, second: str, between: str = "pass", where: str = "") -> str:
    return program(PAIR.format(first=first, second=second, between=between, where=where))


def merge(s: Schedule) -> None:
    s.merge_writes("u", "v")


def test_one_step_keeps_the_order_of_float_sums() -> None:
    s = accepted(pair("C[i] + A[i]", "C[i] + D[i]"), merge)
    assert "C[i] = C[i] + A[i] + D[i]" in body(s)


def test_an_overwritten_value_goes() -> None:
    assert "C[i] = D[i]" in body(accepted(pair("A[i]", "D[i]"), merge))


def test_what_stands_in_between() -> None:
    s = accepted(pair("A[i]", "C[i] + D[i]", "D[i] = C[i + 1]"), merge)
    assert "C[i] = A[i] + D[i]" in body(s)
    refused(pair("A[i]", "C[i] + D[i]", "D[i] = C[i]"), merge, "no later read sees it")
    refused(pair("A[i]", "C[i] + D[i]", "A[i] = 0.0"), merge, "A[i] equals written[()]")


def test_writes_to_different_elements() -> None:
    refused(pair("A[i]", "D[i]", where=" + 1"), merge, "it is certainly overwritten later")
    text = pair("A[i]", "D[i]").replace("C[i] = A", "D[i] = A")
    not_applicable(text, merge, "store to D and C")


def test_blocks_that_do_not_follow_each_other() -> None:
    not_applicable(pair("A[i]", "D[i]"), lambda s: s.merge_writes("v", "u"), "do not follow each other")
