"""Inputs that only a solver finds: where integers wrap, under assumptions that few inputs satisfy."""

from __future__ import annotations

import re

import pytest

from verified_tir import parse_func
from verified_tir.semantics.interpreter import run
from verified_tir.validate import Different, Equal, Report, Unknown, validate

EACH = """
@T.prim_func
def f(A: T.Buffer((4,), "{0}"), B: T.Buffer((4,), "{0}")):
    for i in range(4):
        B[i] = {1}
"""
SIGNED = ("int8", "int16", "int32", "int64")


def judged(dtype: str, before: str, after: str) -> Report:
    """``X`` and ``Y`` are elements, numbers are of the type."""

    def program(value: str) -> str:
        typed = re.sub(r"(?<![\w.])(\d+)", rf"T.{dtype}(\1)", value)
        return EACH.format(dtype, typed.replace("X", "A[i]").replace("Y", "A[3 - i]"))

    return validate(parse_func(program(before)), parse_func(program(after)))


@pytest.mark.sample(12)
@pytest.mark.parametrize("dtype", [*SIGNED, "uint8", "uint32"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("(X + 4) // 2", "X // 2 + 2"),
        ("(X - 4) // 2", "X // 2 - 2"),
        ("(X + 4) >> 1", "(X >> 1) + 2"),
        ("(X * 4) // 2", "X * 2"),
        ("(X << 1) >> 1", "X"),
        ("(X + 3) % 3", "X % 3"),
        ("T.truncdiv(X + 4, 2)", "T.truncdiv(X, 2) + 2"),
        ("T.max(X + 1, Y + 1)", "T.max(X, Y) + 1"),
        ("T.min(X - 7, 5)", "T.min(X, 12) - 7"),
        ("T.Select(X + 100 > Y + 100, T.min(X, 1), 0)", "T.Select(X > Y, T.min(X, 1), 0)"),
    ],
)
def test_what_only_wraps_at_the_ends_of_a_type_is_different(dtype: str, before: str, after: str) -> None:
    found = judged(dtype, before, after).verdict
    assert isinstance(found, Different), found
    assert found.before != found.after


@pytest.mark.parametrize("dtype", [*SIGNED, "uint8", "uint32"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("(X + 4) % 8", "(X % 8 + 4) % 8"),
        ("X // 4 * 4 + X % 4", "X"),
        ("(X >> 3) << 3", "X - X % 8"),
        ("(X + 4) - 4", "X"),
        ("T.max(X, Y) + 1", "T.max(Y, X) + 1"),
    ],
)
def test_what_does_not_matter_when_it_wraps_is_equal(dtype: str, before: str, after: str) -> None:
    assert isinstance(judged(dtype, before, after).verdict, Equal)


def test_a_guard_against_the_end_makes_it_equal() -> None:
    guarded = "T.if_then_else(X < 100, {}, 0)"
    for before, after in (("(X + 4) // 2", "X // 2 + 2"), ("T.max(X + 2, 7)", "T.max(X, 5) + 2")):
        assert isinstance(judged("int8", guarded.format(before), guarded.format(after)).verdict, Equal)
        late = guarded.replace("100", "127")
        assert isinstance(judged("int8", late.format(before), late.format(after)).verdict, Different)


# -- assumptions ------------------------------------------------------------------------------------------------------

ASSUMED = """
@T.prim_func
def f(A: T.Buffer((6,), "{0}"), C: T.Buffer((1,), "{0}")):
    {1}
    C[0] = {2}
"""


def assuming(dtype: str, claims: list[str], before: str, after: str, *, twice: bool) -> Report:
    head = "\n    ".join(f"T.assume({c})" for c in claims)
    one = ASSUMED.format(dtype, head, before)
    return validate(parse_func(one), parse_func(ASSUMED.format(dtype, head if twice else "pass", after)))


def zeros(dtype: str, *places: int) -> list[str]:
    return [f"A[{k}] == T.{dtype}(0)" for k in places]


@pytest.mark.sample(8)
@pytest.mark.parametrize("twice", [True, False])
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("dtype", ["int8", "int32", "uint64", "float32", "bfloat16"])
def test_elements_that_are_assumed_to_be_zero(dtype: str, count: int, twice: bool) -> None:
    claims, nothing, product = zeros(dtype, *range(count)), f"T.{dtype}(0)", "A[4] * A[5]"
    found = assuming(dtype, claims, nothing, product, twice=twice).verdict
    assert isinstance(found, Different), found
    assert all(found.arguments["A"][k] == 0 for k in range(count))  # type: ignore[index]
    if dtype != "bfloat16":
        known = assuming(dtype, [*claims, *zeros(dtype, 5)], nothing, product, twice=twice).verdict
        assert isinstance(known, Different if dtype == "float32" else Equal), known  # -0.0, infinities


def test_assumptions_that_hardly_any_input_satisfies() -> None:
    claims = [
        "A[0] == T.int32(123456)",
        "A[1] == A[0] * T.int32(3) + T.int32(7)",
        "A[2] > A[1]",
        "A[3] < T.int32(-99999)",
    ]
    found = assuming("int32", claims, "A[2]", "A[2] + A[4]", twice=False)
    assert isinstance(found.verdict, Different)
    given = found.verdict.arguments
    assert list(given["A"][:2]) == [123456, 370375]  # type: ignore[index]
    assert run(parse_func(ASSUMED.format("int32", "\n    ".join(f"T.assume({c})" for c in claims), "A[2]")), given)
    same = assuming("int32", claims, "A[0]", "T.int32(123456)", twice=False)
    assert isinstance(same.verdict, Equal)
    assert not same.verdict.vacuous
    impossible = assuming("int32", [*claims, "A[2] == A[1]"], "A[1]", "A[0]", twice=False)
    assert isinstance(impossible.verdict, Equal)
    assert impossible.verdict.vacuous


def test_what_is_proposed_is_run_and_believed_only_then() -> None:
    """Z3 knows nothing of these functions, and its inputs show no difference."""
    found = validate(
        parse_func(EACH.format("float32", "T.exp(A[i]) + T.float32(1)")),
        parse_func(EACH.format("float32", "T.exp(A[i] * T.float32(1)) + T.float32(1)")),
    ).verdict
    assert isinstance(found, Equal)
    opaque = validate(
        parse_func(EACH.format("int32", "T.popcount(A[i])")),
        parse_func(EACH.format("int32", "T.popcount(A[i] ^ T.int32(-1) ^ T.int32(-1) | T.int32(0))")),
    ).verdict
    assert isinstance(opaque, Equal)
    unknown = validate(
        parse_func(EACH.format("int32", "T.popcount(A[i])")),
        parse_func(EACH.format("int32", "T.int32(32) - T.popcount(A[i] ^ T.int32(-1))")),
    ).verdict
    assert isinstance(unknown, Unknown)


# -- undef under a condition ------------------------------------------------------------------------------------------

UNDEFINED = """
@T.prim_func
def f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    if {0}:
        U = T.alloc_buffer((1,), "int32")
        B[0] = {1}
"""


@pytest.mark.sample(6)
@pytest.mark.parametrize("guard", ["A[0] > 0", "A[0] == 3"])
@pytest.mark.parametrize(
    "value",
    [
        *[f"T.{op}(U[0], {divisor})" for op in ("floordiv", "floormod", "truncdiv", "truncmod")
          for divisor in ("-1", "A[1]", "U[0]", "T.max(A[1], -1)")],
        *["A[1] // U[0]", "A[1] % U[0]", "U[0] << A[1]", "A[1] << U[0]", "A[1] >> U[0]", "U[0] >> 1", "U[0] // 3"],
    ],
)  # fmt: skip
def test_undefined_operands_under_a_guard(guard: str, value: str) -> None:
    undefined = parse_func(UNDEFINED.format(guard, value))
    other = parse_func(UNDEFINED.format(guard, "A[1] + 5"))
    wider = parse_func(UNDEFINED.format("A[0] >= 0", "A[1] + 5"))
    assert isinstance(validate(undefined, undefined).verdict, Equal)
    assert isinstance(validate(undefined, other).verdict, Equal)
    assert isinstance(validate(undefined, wider).verdict, Different)
    assert isinstance(validate(other, undefined).verdict, Different)


def test_an_undefined_assumption_under_a_guard() -> None:
    claim = UNDEFINED.replace("B[0] = {1}", "T.assume(U[0] == 1)\n        B[0] = {1}")
    for value in ("A[1]", "A[1] + 5"):
        found = validate(parse_func(claim.format("A[0] > 0", "A[1]")), parse_func(UNDEFINED.format("A[0] > 0", value)))
        assert isinstance(found.verdict, Equal)
    found = validate(parse_func(claim.format("A[0] > 0", "A[1]")), parse_func(UNDEFINED.format("A[0] > -2", "A[1]")))
    assert isinstance(found.verdict, Different)
