"""The validator: a reduction across threads hid the other races of its loop, and what a block with a reduction axis did
to a buffer counted as a reduction whatever it was.  Of each loop no more than one conflict was ever reported.

Finding: validator | race-missed | race between threads at C between iterations of i
"""

from __future__ import annotations

import pytest

from verified_tir import parse_func
from verified_tir.validate import Equal, validate

PROGRAM = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((1,), "float32"), C: T.Buffer((4,), "float32")):
    for i in {kind}:
        with T.block("s"):
            vk = T.axis.reduce(4, i)
            {init}
            {update}
        {beside}
"""
THREADS = 'T.thread_binding(4, thread="threadIdx.x")'
SUM = "reduction across threads at B, over i"
RACE = "race between threads at {} between iterations of i"


def found(**words: str) -> tuple[str, ...]:
    words = {"init": "pass", "update": "B[0] = B[0] + A[vk]", "beside": "pass", **words}
    report = validate(parse_func(PROGRAM.format(kind="range(4)", **words)),
                      parse_func(PROGRAM.format(kind=THREADS, **words)))  # fmt: skip
    assert isinstance(report.verdict, Equal)
    return tuple(f.removeprefix("after: ") for f in report.findings)


@pytest.mark.parametrize("update", [
    "B[0] = B[0] + A[vk]", "B[0] = A[vk] * B[0]", "B[0] = T.max(B[0], A[vk])", "B[0] = T.min(A[vk], B[0])",
])  # fmt: skip
@pytest.mark.parametrize("init", ["pass", "with T.init():\n                B[0] = T.float32(0)"])
def test_a_reduction(update: str, init: str) -> None:
    assert found(update=update, init=init) == (SUM,)


@pytest.mark.parametrize("update", [
    "B[0] = A[vk]", "B[0] = B[0] * T.float32(2) + A[vk]", "B[0] = A[vk] - B[0]", "B[0] = B[0] + A[vk] * B[0]",
    "B[0] = B[0] + A[vk]\n            B[0] = B[0] * A[vk]", "B[0] = T.if_then_else(A[vk] > T.float32(0), B[0], A[vk])",
])  # fmt: skip
def test_what_is_no_reduction(update: str) -> None:
    assert found(update=update) == (RACE.format("B"),)


@pytest.mark.parametrize("beside, name", [
    ("C[0] = A[i]", "C"), ("C[0] = C[0] + A[i]", "C"), ("C[i // 2] = A[i]", "C"), ("C[i] = A[i]", ""),
])  # fmt: skip
def test_a_race_beside_a_reduction(beside: str, name: str) -> None:
    assert found(beside=beside) == (SUM, *([RACE.format(name)] if name else []))


@pytest.mark.parametrize("beside", [
    "B[0] = A[i]", "C[i] = B[0]",
    'with T.block("t"):\n            vi = T.axis.spatial(4, i)\n            B[0] = A[vi]',
    'with T.block("t"):\n            vk = T.axis.reduce(4, i)\n            B[0] = B[0] * A[vk]',
])  # fmt: skip
def test_other_accesses_to_what_is_reduced_into(beside: str) -> None:
    assert found(beside=beside) == (RACE.format("B"),)


def test_an_initialisation_that_comes_again() -> None:
    again = "for r in range(2):\n            with T.block({}):\n                vk = T.axis.reduce(4, i)\n"
    body = again.format('"t"') + "                with T.init():\n                    C[0] = T.float32(0)\n"
    assert found(beside=body + "                C[0] = C[0] + A[vk]") == (SUM, RACE.format("C"))


SEVERAL = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((1,), "float32"), C: T.Buffer((1,), "float32")):
    for i in {kind}:
        with T.block("s"):
            vk = T.axis.reduce(4, i)
            with T.init():
                B[0] = T.float32(0)
                C[0] = T.float32(0)
            b: T.let[T.float32] = B[0] + A[vk]
            c: T.let[T.float32] = {second}
            B[0] = b
            C[0] = {third}
"""


@pytest.mark.parametrize("second, third, names", [
    ("C[0] + A[vk] * A[vk]", "c", {"B": SUM, "C": SUM.replace("B", "C")}),
    ("C[0] + B[0]", "c", {"B": RACE.format("B"), "C": SUM.replace("B", "C")}),
    ("C[0] + A[vk]", "b", {"B": RACE.format("B"), "C": RACE.format("C")}),
    ("C[0] + A[vk]", "T.max(c, c)", {"B": SUM, "C": RACE.format("C")}),
])  # fmt: skip
def test_several_results(second: str, third: str, names: dict[str, str]) -> None:
    programs = [parse_func(SEVERAL.format(kind=k, second=second, third=third)) for k in ("range(4)", THREADS)]
    report = validate(*programs)
    assert isinstance(report.verdict, Equal)
    assert {f.removeprefix("after: ") for f in report.findings} == set(names.values())


NESTED = """
@T.prim_func
def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((2,), "float32")):
    for i, o in T.grid(2, 2):
        for k in {kind}:
            with T.block("outer"):
                vi, vo, vk = T.axis.remap("SRR", [i, o, k])
                for j in range(2):
                    with T.block("inner"):
                        vl = T.axis.reduce(8, vo * 4 + vk * 2 + j)
                        B[vi] = B[vi] + A[vi, {at}]
"""


def test_a_block_within_a_block() -> None:
    before = parse_func(NESTED.format(kind="range(2)", at="vl"))
    after = parse_func(NESTED.format(kind='T.thread_binding(2, thread="threadIdx.x")', at="vl"))
    assert validate(before, after).findings == ("after: reduction across threads at B, over k",)


SECOND = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((1,), "float32"), C: T.Buffer((4,), "float32")):
    for i in {kind}:
        B[0] = A[i]
        C[{at}] = A[3]
"""


@pytest.mark.parametrize("kind, word", [("T.parallel(4)", "race"), ("T.vectorized(4)", "lane conflict")])
def test_a_second_race_of_a_loop(kind: str, word: str) -> None:
    one, two = (parse_func(SECOND.format(kind=kind, at=at)) for at in ("i", "0"))
    report = validate(one, two)
    assert set(report.findings) == {
        f"before: {word} at B between iterations of i",
        f"after: {word} at B between iterations of i",
        f"after: {word} at C between iterations of i",
    }
    assert report.new_races == (f"after: {word} at C between iterations of i",)
    assert not validate(one, one).new_races and not validate(two, two).new_races


PHASES = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((1,), "float32")):
    for tx in T.thread_binding(4, thread="threadIdx.x"):
        S = T.alloc_buffer((4,), "float32", scope="shared")
        S[0] = A[tx]
        B[tx] = A[tx]
        {more}
"""


def test_a_second_race_of_threads_in_phases() -> None:
    one, two = (parse_func(PHASES.format(more=more)) for more in ("pass", "C[0] = A[0]"))
    report = validate(one, two)
    assert report.new_races == ("after: race between threads at C: no barrier is between",)
