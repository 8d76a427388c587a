"""``validate_llvm``: what the emitter writes is equal, before and after the optimiser; what is changed is not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.validate.llvm.llvm_support import changed, check, program, texts
from verified_tir.validate.llvm import never_reached, replay, validate_llvm, validate_llvm_sizes, validator
from verified_tir.validate.verdict import Different, Equal, Unknown

FLOATS = 'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")'
INTEGERS = 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")'


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(8):\n    C[i] = A[i] * B[i] + A[i] - B[i] / A[i]",
        "for i in range(8):\n    C[i] = A[i] * T.float32(2) + A[i] / T.float32(4)",
        "for i in range(8):\n    C[i] = T.max(A[i], B[i]) + T.min(A[i], T.float32(0))",
        "for i in range(8):\n    C[0] = C[0] + A[i] * B[7 - i]",
        "for i in range(8):\n    if A[i] > B[i]:\n        C[i] = A[i]",
        "for i in range(8):\n    C[i] = T.if_then_else(A[i] > B[i], A[i], T.sqrt(B[i]))",
        "for i in T.vectorized(8):\n    C[i] = T.fma(A[i], B[i], C[i])",
        "for i in range(8):\n    C[i] = T.Cast(\"float32\", T.Cast(\"int32\", A[i]))",
        "L = T.alloc_buffer((8,), \"float32\")\nfor i in range(8):\n    L[i] = A[i]\nfor j in range(8):\n    C[j] = L[7 - j]",  # noqa: E501
    ],
)  # fmt: skip
def test_floats(body: str) -> None:
    check(program(FLOATS, body))


@pytest.mark.parametrize(
    "value",
    [
        "A[i] // 4 + A[i] % 8", "A[i] * 8 - B[i] * 7", "(A[i] >> 3) ^ (B[i] << 2)", "T.max(A[i], B[i]) - T.abs(A[i])",
        "T.Cast(\"int32\", T.Cast(\"int8\", A[i] + B[i]))", "T.Select(A[i] < B[i], A[i], B[i] & 255)",
        "T.popcount(A[i]) + T.clz(B[i])", "T.bitwise_not(A[i]) | B[i]",
    ],
)  # fmt: skip
def test_integers(value: str) -> None:
    check(program(INTEGERS, f"for i in range(8):\n    C[i] = {value}"))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "bool", "int8", "uint16", "int64", "uint64"])
def test_copies_and_choices_of_every_type(dtype: str) -> None:
    parameters = f'A: T.Buffer((5,), "{dtype}"), B: T.Buffer((5,), "{dtype}"), C: T.Buffer((5,), "float32")'
    check(program(parameters, "for i in range(5):\n    if C[i] > T.float32(0):\n        B[i] = A[i]"))


@pytest.mark.nightly
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_arithmetic_of_other_floats(dtype: str) -> None:
    parameters = f'A: T.Buffer((2,), "{dtype}"), B: T.Buffer((2,), "{dtype}")'
    check(program(parameters, "for i in range(2):\n    B[i] = A[i] + B[i] * A[i]"))


@pytest.mark.parametrize(
    "dtype",
    [pytest.param("float16", marks=pytest.mark.nightly), "float32", pytest.param("float64", marks=pytest.mark.nightly)],
)
def test_both_names_of_rounding_are_one_word_of_llvm(dtype: str) -> None:
    parameters = f'A: T.Buffer((2,), "{dtype}"), B: T.Buffer((2,), "{dtype}")'
    func = program(parameters, "for i in range(2):\n    A[i] = T.nearbyint(A[i])\n    B[i] = T.round(B[i])")
    check(func)
    away = changed(texts(func)[0], r"llvm\.roundeven", "llvm.round", count=9)
    verdict = validate_llvm(func, away).verdict
    assert isinstance(verdict, Different), "halves go away from zero"


@pytest.mark.parametrize("function", ["exp", "tanh"])
def test_transcendental_functions_are_their_expansions(function: str) -> None:
    check(program('A: T.Buffer((1,), "float32"), B: T.Buffer((1,), "float32")', f"B[0] = T.{function}(A[0])"))


def test_symbolic_sizes_and_coverage() -> None:
    func = program(
        "a: T.handle, b: T.handle",
        """
n = T.int32()
A = T.match_buffer(a, (n, 4), "float32")
B = T.match_buffer(b, (n,), "float32")
for i in range(n):
    B[i] = T.float32(0)
    for k in range(4):
        B[i] = B[i] + A[i, k]
""",
    )
    for text in texts(func):
        reports = validate_llvm_sizes(func, text, [{"n": n} for n in (0, 1, 5, 40)])
        assert all(isinstance(r.verdict, Equal) for r in reports)
        assert never_reached(reports) < never_reached(reports[:1])


def test_threads() -> None:
    func = program(FLOATS, "for i in T.parallel(8):\n    C[i] = A[i] + B[i]")
    check(func)
    text = changed(
        texts(func)[0], r"getelementptr inbounds float, ptr %c0, i64 %i\w+", "getelementptr float, ptr %c0, i64 0"
    )
    verdict = validate_llvm(func, text).verdict
    assert isinstance(verdict, Different)


@pytest.mark.parametrize("extent", [65, 100])
def test_parallel_loops_with_many_iterations(extent: int) -> None:
    check(program(f'A: T.Buffer(({extent},), "int32")', f"for i in T.parallel({extent}):\n    A[i] = A[i] + i"))


@pytest.mark.parametrize("kind, verdict", [("serial", Equal), ("parallel", Different)])
def test_a_race_between_iterations_that_store_the_same_value(kind: str, verdict: type[Equal] | type[Different]) -> None:
    func = program(INTEGERS, f"for i in T.{kind}(8):\n    C[3] = 1")
    for text in texts(func):
        found = validate_llvm(func, text).verdict
        assert isinstance(found, verdict)
        if isinstance(found, Different):
            assert found.after == "two threads access byte 12 of C at one time, and one of them writes it"


def test_a_parallel_loop_over_another_range() -> None:
    func = program(INTEGERS, "for i in T.parallel(8):\n    C[i] = A[i]")
    for old, new, what in [
        ("i64 8, i64 2", "i64 7, i64 2", Different),
        ("i64 8, i64 2", "i64 8, i64 3", Equal),
        ("i64 8, i64 2", "i64 0, i64 2", Different),
        ("ptr @unpack_1", "ptr @vtir_kernel", Different),
    ]:
        assert isinstance(validate_llvm(func, changed(texts(func)[0], rf"{old}(?=[,)])", new)).verdict, what), (
            old,
            new,
        )


def test_what_fails_in_a_parallel_loop_that_does_not_fail() -> None:
    func = program(INTEGERS, 'for i in T.parallel(8):\n    assert i < 8, "never"\n    C[i] = A[i]')
    text = changed(texts(func)[0], r"icmp slt i32 %v5, 8", "icmp ne i32 %v5, 2")
    verdict = validate_llvm(func, text).verdict
    assert isinstance(verdict, Different)
    assert verdict.after == "the kernel returns 1"


def test_too_much_is_unknown() -> None:
    func = program('A: T.Buffer((100000,), "float32")', "for i in range(100000):\n    A[i] = A[i] + T.float32(1)")
    report = validate_llvm(func, texts(func)[0], most_instructions=10_000, most_steps=100)
    assert isinstance(report.verdict, Unknown)
    assert "more than 10000 instructions" in report.verdict.reason


def test_a_text_that_llvm_refuses() -> None:
    verdict = validate_llvm(program(FLOATS, "C[0] = A[0]"), "define i32 @vtir_kernel() {").verdict
    assert isinstance(verdict, Unknown)
    assert "LLVM refuses the text" in verdict.reason


def test_a_text_that_does_not_end_is_run_twice_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run takes as many instructions as it may, and shows nothing: with 25 of them somebody waits for minutes."""
    func = program(FLOATS, "for i in range(8):\n    C[i] = A[i] * B[i]")
    text = texts(func)[0]
    endless = changed(text, r"(%next\w* = add nsw i64 %\w+), 1", r"\1, 0")
    found: list[replay.Search] = []

    def search(*given: Any, **more: Any) -> replay.Search:
        found.append(replay.search(*given, **more))
        return found[-1]

    monkeypatch.setattr(validator, "search", search)
    report = validate_llvm(func, endless, most_instructions=3_000)
    assert isinstance(report.verdict, Unknown) and "more than 3000 instructions" in str(report.verdict)
    assert [one.tried for one in found] == [replay.ENDLESS]
