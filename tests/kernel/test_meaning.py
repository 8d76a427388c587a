"""Programs without any input, places that no run reaches, opaque calls, recursion."""

from __future__ import annotations

import pytest

from verified_tir import NotApplicable, Refuted, Schedule, ScriptError, parse
from verified_tir.ir.node import IRError

HEADER = '@T.prim_func\ndef f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), n: T.int32):\n'


def program(body: str) -> str:
    return HEADER + "\n".join("    " + line for line in body.split("\n"))


@pytest.mark.parametrize(
    "body",
    [
        "T.assume(n < 0 and n > 5)\nA[7] = 0.0",
        "T.assume(A[0] == T.float32(1))\nT.assume(A[0] == T.float32(2))\nA[9] = 0.0",
        "for i in range(8):\n    T.assume(A[i] == T.float32(1))\nT.assume(A[0] == T.float32(2))\nA[9] = 0.0",
    ],
)
def test_assumptions_that_contradict_each_other_are_refused(body: str) -> None:
    with pytest.raises(NotApplicable, match="contradict each other: no input satisfies them"):
        Schedule(program(body))


@pytest.mark.parametrize(
    "body",
    [
        "T.assume(n < 0 or n > 5)\nA[7] = 0.0",
        "T.assume(A[0] == T.float32(1))\nA[0] = 2.0\nT.assume(A[0] == T.float32(2))\nA[7] = 0.0",
        "for i in range(8):\n    T.assume(i < 4 or A[i] == T.float32(1))\nT.assume(A[0] == T.float32(2))\nA[7] = 0.0",
    ],
)
def test_assumptions_that_some_input_satisfies_are_accepted(body: str) -> None:
    assert Schedule(program(body)).unreachable == []


def test_stores_that_no_run_reaches_are_named() -> None:
    s = Schedule(program("for i in range(8):\n    if i > 9:\n        A[9] = 0.0\n    B[i] = A[i]"))
    assert s.unreachable == ["A[9] = T.float32(0.0)"]


@pytest.mark.parametrize(
    "body",
    [
        'A[0] = T.call_extern("float32", "random")\nfor i in range(8):\n    B[i] = A[i]',
        'T.evaluate(T.call_extern("int32", "log", A.data))\nfor i in range(8):\n    B[i] = A[i]',
        'for i in range(8):\n    B[i] = T.call_extern("float32", "random", A[i])',
        'if T.call_extern("bool", "random"):\n    for i in range(8):\n        B[i] = A[i]',
        'x: T.int32 = T.call_extern("int32", "random")\nfor i in range(8):\n    B[i] = A[i]',
        'while T.call_extern("bool", "random"):\n    for i in range(8):\n        B[i] = A[i]',
    ],
)
def test_opaque_calls_leave_what_keeps_their_order(body: str) -> None:
    s = Schedule(program(body))
    s.split("i", [None, 4])
    assert "i_0" in s.script()


def test_an_opaque_call_may_write_what_its_statement_loads() -> None:
    """The index comes before the value: the call may make the divisor zero."""
    text = "B[0] = 1.0\nif B[0] == T.float32(1):\n    A[{}] = A[T.if_then_else(B[0] == T.float32(1), 0, 9)]"
    Schedule(program(text.format(0)))
    with pytest.raises(Refuted):
        Schedule(program(text.format('T.call_extern("int32", "g") % 8')))


def test_nothing_moves_past_an_opaque_call() -> None:
    s = Schedule(program('for i, j in T.grid(2, 4):\n    B[i * 4 + j] = T.call_extern("float32", "random")'))
    with pytest.raises(Refuted, match="an opaque call, assertion or while loop stays in its place"):
        s.reorder("j", "i")
    free = Schedule(program("for i, j in T.grid(2, 4):\n    B[i * 4 + j] = A[j]"))
    free.reorder("j", "i")


def test_what_an_opaque_call_may_change_is_no_longer_known() -> None:
    known = "B[0] = 1.0\n{call}\nif B[0] <= T.float32(1):\n    B[1] = 0.0"
    sure = Schedule(program(known.format(call="A[0] = 2.0")))
    sure.simplify()
    assert "if" not in sure.script().split("def")[1]
    with pytest.raises(Refuted, match="depends on nothing undefined"):
        Schedule(program(known.format(call='T.evaluate(T.call_extern("int32", "change", B.data))')))


def test_the_range_of_a_loop_may_not_be_opaque() -> None:
    with pytest.raises((NotApplicable, Refuted)):
        Schedule(program('for i in range(T.call_extern("int32", "random")):\n    B[0] = A[0]'))


MODULE = """
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        Module.{callee}(A.data)

    @T.prim_func
    def g(A: T.Buffer((8,), "float32")):
        A[0] = T.float32(1)
        {back}
"""


@pytest.mark.parametrize(
    ("callee", "back", "circle"),
    [("f", "pass", "f calls f"), ("g", "Module.f(A.data)", "f calls g calls f")],
)
def test_recursion_is_an_error(callee: str, back: str, circle: str) -> None:
    with pytest.raises(NotApplicable, match=circle) as caught:
        Schedule(MODULE.format(callee=callee, back=back))
    assert caught.value.program.name == "f"
    assert f"Module.{callee}(A.data)  # <-- here" in str(caught.value)


def test_one_of_several_functions_must_be_picked() -> None:
    with pytest.raises(IRError, match="pick one of the module's: f, g"):
        Schedule(MODULE.format(callee="g", back="pass"))
    Schedule(parse(MODULE.format(callee="g", back="pass"))["g"])


def test_a_negative_extent_is_an_error_with_its_place() -> None:
    with pytest.raises(ScriptError, match="negative extent") as caught:
        Schedule('@T.prim_func\ndef f(A: T.Buffer((-3,), "float32")):\n    A[0] = 0.0')
    assert caught.value.line == 2


R = 'T.call_extern("int32", "random"'


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        (f"{R}) // n", "the divisor of .* is not zero"),
        (f"{R}, 1 // n)", "the divisor of .* is not zero"),
        (f"{R}) + (n + 2147483647)", "does not overflow"),
        (f"1 // ({R}) - {R}) + 1)", "the divisor of .* is not zero"),
        (f'T.if_then_else(T.undef("bool"), {R}), 1)', "depends on nothing undefined"),
        (
            'T.call_extern("int32", "g", T.if_then_else(T.undef("bool"), A.data, B.data))',
            "depends on nothing undefined",
        ),
        (f"T.if_then_else(D[0] > 0 and {R}) > 0, 1 // D[0], 1)", "undef"),  # the call may have written
    ],
)
def test_what_surrounds_an_opaque_call_must_be_safe(expression: str, reason: str) -> None:
    header = HEADER.replace("A: ", 'D: T.Buffer((1,), "int32"), A: ')
    with pytest.raises(Refuted, match=reason):
        Schedule(f"{header}    D[0] = {expression}\n")


@pytest.mark.parametrize("statement", ["if {} > {}:\n        D[0] = 1", "while {} > {}:\n        D[0] = 1"])
def test_a_branch_on_what_is_computed_with_a_call(statement: str) -> None:
    header = HEADER.replace("A: ", 'D: T.Buffer((1,), "int32"), A: ')
    Schedule(header + "    " + statement.format(f"{R})", 1))
    with pytest.raises(Refuted, match="undef"):
        Schedule(header + "    " + statement.format(f"{R})", 'T.undef("int32")'))


def test_an_opaque_call_may_give_anything() -> None:
    header = HEADER.replace("A: ", 'D: T.Buffer((1,), "int32"), A: ')
    for expression in (f"{R}) * 3 + n", f"T.if_then_else({R}, n) > n, D[0], 7 // 2)"):
        Schedule(f"{header}    D[0] = {expression}\n")
