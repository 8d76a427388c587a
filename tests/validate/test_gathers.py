"""Loads at indices that depend on data."""

import random

import pytest

from tests.parts.verdicts import assert_verdict_holds
from verified_tir import parse_func
from verified_tir.validate import Different, Equal, EqualOverReals, Unknown, validate

PARAMS = 'X: T.Buffer((10, 4), "float32"), I: T.Buffer((3,), "{}"), B: T.Buffer((3, 4), "float32")'
CLAMPED = "T.min(T.max(0, I[i]), 9)"


def program(body: str, params: str):
    return parse_func(f"@T.prim_func\ndef f({params}):\n" + "\n".join("    " + line for line in body.split("\n")))


def take(index: str = CLAMPED, *, flat: bool = False, loop: str = "for i, j in T.grid(3, 4):") -> str:
    if flat:
        return f'X1 = T.decl_buffer((40,), "float32", data=X.data)\n{loop}\n    B[i, j] = X1[({index}) * 4 + j]'
    return f"{loop}\n    B[i, j] = X[{index}, j]"


def verdict(before: str, after: str, dtype: str = "int32", params: str = PARAMS):
    one, other = program(before, params.format(dtype)), program(after, params.format(dtype))
    found = assert_verdict_holds(one, other).verdict
    assert type(validate(one, other, fast=False).verdict) is type(found)
    return found


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "after",
    [
        take(),
        take(flat=True),
        take("T.max(0, T.min(9, I[i]))"),
        take("T.max(0, T.min(9, I[i]))", flat=True),
        take("T.min(T.max(T.int64(0), T.Cast('int64', I[i])), T.int64(9))"),
        take("T.Cast('int32', T.min(T.max(T.int64(0), T.Cast('int64', I[i])), T.int64(9)))", flat=True),
        take(loop="for j, i in T.grid(4, 3):"),
        "for i in range(3):\n    k: T.let[T.int32] = T.max(T.min(9, I[i]), 0)\n"
        "    for j in range(4):\n        B[i, j] = X[k, j]",
        take("T.min(T.max(0, T.max(-5, I[i])), T.min(9, 20))"),
    ],
)  # fmt: skip
def test_the_same_element_however_it_is_addressed(after):
    found = verdict(take(), after)
    assert isinstance(found, Equal) and not found.vacuous


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "index",
    [
        "T.min(T.max(0, I[i]), 8)",
        "T.min(T.max(1, I[i]), 9)",
        "T.max(T.min(0, I[i]), 9)",
        "9 - T.min(T.max(0, I[i]), 9)",
        "T.min(T.max(0, I[i] + 1), 9)",
        "T.min(T.max(0, I[2 - i]), 9)",
        "T.min(T.max(0, -I[i]), 9)",
        "T.Cast('int32', T.min(T.max(T.int8(0), T.Cast('int8', I[i])), T.int8(9)))",
        "T.floormod(I[i], 10)",
        "I[i]",
    ],
)
@pytest.mark.parametrize("flat", [False, True])
def test_another_index_is_different(index, flat):
    assert isinstance(verdict(take(), take(index, flat=flat)), Different)


@pytest.mark.nightly
def test_an_index_that_is_not_clamped_is_inside_or_has_no_meaning():
    assert isinstance(verdict(take("I[i]"), take("I[i]")), Equal)
    assert isinstance(verdict(take("I[i]"), take()), Equal)
    assert isinstance(verdict(take("I[i]"), take("T.Cast('int64', I[i])")), Equal)
    found = verdict(take(), take("I[i]"))
    assert isinstance(found, Different) and found.element == ""
    shifted = verdict(take("I[i]"), take("T.min(T.max(0, I[i]), 8)"))
    assert isinstance(shifted, Different)


@pytest.mark.nightly
@pytest.mark.sample(1)
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int64", "uint32"])
def test_types_of_indices(dtype):
    clamped = f"T.min(T.max(T.{dtype}(0), I[i]), T.{dtype}(9))"
    assert isinstance(verdict(take(clamped), take(f"T.Cast('int32', {clamped})", flat=True), dtype), Equal)
    other = f"T.min(T.max(T.{dtype}(0), I[i]), T.{dtype}(8))"
    assert isinstance(verdict(take(clamped), take(f"T.Cast('int32', {other})", flat=True), dtype), Different)
    assert isinstance(verdict(take("I[i]"), take(clamped), dtype), Equal)


LONG = 'X: T.Buffer((100,), "float32"), I: T.Buffer((3,), "int32"), B: T.Buffer((3,), "float32")'


def test_many_elements():
    text = "for i in range(3):\n    B[i] = X[{}]"
    clamped = text.format("T.min(T.max(0, I[i]), 99)")
    assert isinstance(verdict(clamped, text.format("T.max(0, T.min(I[i], 99))"), params=LONG), Equal)
    for other in ("T.min(T.max(0, I[i]), 98)", "T.min(T.max(1, I[i]), 99)", "99 - T.min(T.max(0, I[i]), 99)"):
        assert isinstance(verdict(clamped, text.format(other), params=LONG), Different)
    changed = "X[40] = T.float32(1)\n" + clamped
    assert isinstance(verdict(changed, changed.replace("(1)", "(2)"), params=LONG), Different)
    twice = "X[40] = T.float32(2)\nX[40] = T.float32(1)\n" + clamped
    assert isinstance(verdict(changed, twice, params=LONG), Equal)


@pytest.mark.nightly
@pytest.mark.parametrize("extent", [10, 40])
def test_what_was_stored_before_and_what_was_not(extent):
    params = f'A: T.Buffer(({extent},), "float32"), I: T.Buffer((3,), "int32"), B: T.Buffer((3,), "float32")'
    text = f"""\
X = T.alloc_buffer(({extent},), "float32")
for k in range(WRITTEN):
    X[k] = A[k] * T.float32(2)
for i in range(3):
    B[i] = X[T.min(T.max(0, I[i]), {extent - 1})]"""
    whole = text.replace("WRITTEN", str(extent))
    direct = f"for i in range(3):\n    B[i] = A[T.min(T.max(0, I[i]), {extent - 1})] * T.float32(2)"
    assert not isinstance(verdict(whole, direct, params=params), Different)
    short = verdict(whole, text.replace("WRITTEN", str(extent - 1)), params=params)
    assert isinstance(short, Different) and short.after is None


def test_two_data_are_not_followed():
    params = 'X: T.Buffer((4, 4), "float32"), I: T.Buffer((3,), "int32"), B: T.Buffer((3,), "float32")'
    text = "for i in range(3):\n    B[i] = X[T.min(T.max(0, I[i]), 3), T.min(T.max(0, I[2 - i]), 3)]"
    found = verdict(text, text.replace("B[i] =", "B[i] = T.float32(0) +"), params=params)
    assert isinstance(found, (Unknown, Different))
    assert isinstance(verdict(text, text.replace("X[", "T.float32(1) + X["), params=params), Different)


@pytest.mark.nightly
def test_an_element_that_is_stored_in_the_same_loop():
    """Which element is read is not known, so iterations run in order."""
    params = 'X: T.Buffer((10,), "float32"), I: T.Buffer((10,), "int32")'
    text = "for i in {}:\n    X[i] = X[T.min(T.max(0, I[i]), 9)] + T.float32(1)"
    up = text.format("range(10)")
    down = up.replace("X[i]", "X[9 - i]").replace("I[i]", "I[9 - i]")
    assert isinstance(verdict(up, up.replace("range(10)", "T.unroll(10)"), params=params), Equal)
    assert isinstance(verdict(up, down, params=params), Different)
    one, other = (program(text.format(loop), params) for loop in ("range(10)", "T.parallel(10)"))
    found = validate(one, other)
    assert isinstance(found.verdict, Unknown) and not any("race" in f for f in found.findings)


def test_vectors_of_indices():
    flat = 'X1 = T.decl_buffer((40,), "float32", data=X.data)\nfor i in range(3):\n    B[i, 0:4] = X1[{}]'
    ramp = "T.Ramp(T.min(T.max(0, I[i]), {}) * 4, 1, 4)"
    assert isinstance(verdict(take(), flat.format(ramp.format(9))), Equal)
    assert isinstance(verdict(take(), flat.format(ramp.format(8))), Different)


@pytest.mark.sample(7)
@pytest.mark.parametrize("seed", range(200))
def test_verdicts_hold_on_random_indices(seed):
    rng = random.Random(seed)

    def index(depth: int) -> str:
        if depth == 0 or rng.random() < 0.2:
            return rng.choice(["I[i]", "I[i]", "I[i]", str(rng.randrange(-2, 11))])
        kind = rng.choice(["T.min", "T.max", "+", "-", "*", "mod", "cast", "if"])
        a, n = index(depth - 1), rng.randrange(-3, 12)
        match kind:
            case "T.min" | "T.max":
                return f"{kind}({a}, {n})" if rng.random() < 0.5 else f"{kind}({n}, {a})"
            case "mod":
                return f"T.floormod({a}, {rng.choice([3, 5, 10])})"
            case "cast":
                return f"T.Cast('int32', T.Cast('{rng.choice(['int64', 'int8', 'int16', 'uint8'])}', {a}))"
            case "if":
                return f"T.Select(I[i] > {n}, {a}, {rng.randrange(10)})"
        return f"({a}) {kind} ({n if rng.random() < 0.8 else index(depth - 1)})"

    first = index(rng.randrange(1, 5))
    second = first if rng.random() < 0.3 else index(rng.randrange(1, 5))
    if rng.random() < 0.8:
        first = f"T.min(T.max(0, {first}), 9)"
        second = rng.choice(["T.min(T.max(0, {}), 9)", "T.max(T.min(9, {}), 0)", "T.min(T.max(0, {}), 8)"]).format(
            second
        )
    one, other = take(first), take(second, flat=rng.random() < 0.5)
    found = assert_verdict_holds(program(one, PARAMS.format("int32")), program(other, PARAMS.format("int32"))).verdict
    assert isinstance(found, (Equal, Different, Unknown, EqualOverReals))
