"""simplify: branches that become one, what assumptions and conditions passed say (RFC 77, "Enhancement - Simplify")."""

from __future__ import annotations

import pytest

from verified_tir import Schedule, script
from verified_tir.validate import Equal, validate

HEAD = "@T.prim_func\ndef f({}):\n"


def simplified(params: str, body: str) -> str:
    """The body after ``simplify``; the validator agrees with the kernel."""
    text = HEAD.format(params) + "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
    s = Schedule(text)
    s.simplify()
    report = validate(s.theorem.before, s.func, sizes={"n": 3})
    assert isinstance(report.verdict, Equal), report
    return script(s.func.body)


TWO = 'A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")'


def test_identical_conditions_of_other_form() -> None:
    body = """
for i in range(16):
    if i < 8:
        A[i] = 0.0
    else:
        A[i] = 1.0
    if i // 8 == 0:
        B[i] = 2.0
    else:
        B[i] = 3.0
"""
    assert simplified(TWO, body) == (
        "for i in range(16):\n"
        "    if i < 8:\n        A[i] = T.float32(0.0)\n        B[i] = T.float32(2.0)\n"
        "    else:\n        A[i] = T.float32(1.0)\n        B[i] = T.float32(3.0)"
    )


def test_nearly_the_same_conditions_stay() -> None:
    body = "for i in range(16):\n    if i < 8:\n        A[i] = 0.0\n    if i // 7 == 0:\n        B[i] = 2.0"
    assert simplified(TWO, body).count("if ") == 2


def test_complementary_conditions() -> None:
    body = """
for i, j in T.grid(4, 4):
    if 4 * i + j < 14:
        A[4 * i + j] = 0.0
    else:
        A[4 * i + j] = 1.0
    if i == 3 and j >= 2:
        B[4 * i + j] = 2.0
    else:
        B[4 * i + j] = 3.0
"""
    assert simplified(TWO, body) == (
        "for i, j in T.grid(4, 4):\n"
        "    if 4 * i + j < 14:\n        A[4 * i + j] = T.float32(0.0)\n        B[4 * i + j] = T.float32(3.0)\n"
        "    else:\n        A[4 * i + j] = T.float32(1.0)\n        B[4 * i + j] = T.float32(2.0)"
    )


def test_complementary_guards_without_else_are_if_and_else() -> None:
    body = """
for i in range(16):
    if i < 14:
        A[i] = B[i]
    if i >= 14:
        A[i] = 0.0
"""
    assert simplified(TWO, body) == (
        "for i in range(16):\n    if i < 14:\n        A[i] = B[i]\n    else:\n        A[i] = T.float32(0.0)"
    )


def test_three_in_a_row_and_what_stands_around() -> None:
    guards = "".join(f"    if i < 14:\n        A[i] = {k}.0\n" for k in range(3))
    found = simplified(TWO, "for i in range(16):\n    B[i] = 5.0\n" + guards + "    B[i] = B[i] + 1.0")
    assert found.count("if ") == 1
    assert found.index("5.0") < found.index("if ") < found.index("2.0") < found.index("B[i] +")


@pytest.mark.nightly
@pytest.mark.parametrize(
    "body",
    [
        "for i in range(16):\n    if A[i] < 0.0:\n        A[i] = A[i] + 1.0\n    if A[i] < 0.0:\n        A[i] = 0.0",
        "for i in range(15):\n    if A[i] < 0.0:\n        A[i + 1] = 1.0\n    if A[i + 1] < 0.0:\n        A[i] = 0.0",
    ],
)
def test_conditions_about_data_that_the_first_branch_changes_stay(body: str) -> None:
    assert simplified(TWO, body).count("if ") == 2


def test_both_sides_the_same() -> None:
    params = TWO + ", n: T.int32"
    assert simplified(params, "if n > 0:\n    A[0] = 1.0\nelse:\n    A[0] = 1.0") == "A[0] = T.float32(1.0)"
    assert "if n > 0" in simplified(params, "if n > 0:\n    A[0] = 0.0\nelse:\n    A[0] = -0.0")  # other bits


ONE = 'A: T.Buffer((16,), "int32"), B: T.Buffer((1,), "int32"), n: T.int32'


def test_assumptions_about_symbols() -> None:
    body = "T.assume(n >= 0 and n < {})\nfor i in range(16):\n    A[i] = n // 8"
    assert simplified(ONE, body.format(8)).endswith("A[i] = 0")
    assert simplified(ONE, body.format(9)).endswith("A[i] = n // 8")


def test_an_assumption_holds_from_its_place_on() -> None:
    body = "if n < 8:\n    T.assume(n >= 0)\n    A[0] = n // 8\nelse:\n    A[1] = n // 8\nA[2] = n // 8"
    found = simplified(ONE, body)
    assert "A[0] = 0" in found
    assert "A[1] = n // 8" in found
    assert "A[2] = n // 8" in found


def test_conditions_passed() -> None:
    found = simplified(ONE, "if n >= 0 and n < 8:\n    A[0] = n // 8\nelse:\n    A[1] = n // 8")
    assert "A[0] = 0" in found
    assert "A[1] = n // 8" in found


def test_assumptions_about_memory_until_it_is_written() -> None:
    body = """
T.assume(B[0] == 0)
if A[0] == B[0]:
    for i in range(16):
        B[0] = B[0] + A[i]
A[1] = B[0]
"""
    found = simplified(ONE, body)
    assert "if A[0] == 0:" in found
    assert "B[0] = B[0] + A[i]" in found
    assert "A[1] = B[0]" in found
    assert "T.assume(B[0] == 0)" in found
