"""LowerThreadAllreduce: partial results and a tree."""

from __future__ import annotations

import pytest

from tests.lower.lower_support import gives, lowered, refused
from tests.lower.test_removals import program
from verified_tir import Schedule
from verified_tir.derivation.assumptions import reassociated
from verified_tir.lower.lower_thread_allreduce import LowerThreadAllreduce

SUM = """
B[0] = {1}
for k in T.serial({0}, annotations={{"thread_allreduce": {2}}}):
    B[0] = B[0] + A[k]
"""
INTS = 'A: T.Buffer((32,), "int32"), B: T.Buffer((1,), "int32")'


def test_a_tree() -> None:
    gives(program(SUM.format(32, 0, 4), INTS), LowerThreadAllreduce(), """
B[0] = 0
B_4 = T.alloc_buffer((4,), "int32")
for j0 in range(4):
    B_4[j0] = 0
for k_0 in range(8):
    for k_1 in T.vectorized(4):
        B_4[k_1] = B_4[k_1] + A[k_0 * 4 + k_1]
B_2 = T.alloc_buffer((2,), "int32")
for j0 in range(2):
    B_2[j0] = 0
for j0_0 in range(2):
    for j0_1 in T.vectorized(2):
        B_2[j0_1] = B_2[j0_1] + B_4[j0_0 * 2 + j0_1]
for j0 in range(2):
    B[0] = B[0] + B_2[j0]
""")  # fmt: skip
    _, records = lowered(program(SUM.format(32, 0, 4), INTS), LowerThreadAllreduce() >> LowerThreadAllreduce())
    assert records[1].rules == 0


def test_a_tail_and_a_symbolic_extent() -> None:
    lowered(program(SUM.format(29, 0, 8), INTS), LowerThreadAllreduce())
    params = 'A: T.Buffer(("n",), "int32"), B: T.Buffer((1,), "int32"), n: T.int32'
    lowered(program(SUM.format("n", 0, 4), params), LowerThreadAllreduce())


def test_floats_need_the_users_word() -> None:
    floats = INTS.replace("int32", "float32")
    text = program(SUM.format(32, "T.float32(0.0)", 4), floats)
    words = '(another order may be allowed: LowerThreadAllreduce(reassociate=("B",)))'
    refused(text, LowerThreadAllreduce(), words)
    refused(text, LowerThreadAllreduce(reassociate=("A",)), words)
    theorem = LowerThreadAllreduce(reassociate=("B",)).run(Schedule(text))
    assert reassociated(theorem) == ["B"]
    integers = LowerThreadAllreduce(reassociate=("B",)).run(Schedule(program(SUM.format(32, 0, 4), INTS)))
    assert integers.reassociated == frozenset()


def test_a_float_maximum_without_nan_and_negative_zeros_needs_no_word() -> None:
    floats = INTS.replace("int32", "float32")
    text = program(SUM.format(32, "T.float32(0.0)", 4), floats)
    largest = text.replace("B[0] + A[k]", "T.max(B[0], T.max(A[k], T.float32(0)))")
    theorem = LowerThreadAllreduce().run(Schedule(largest))
    assert theorem.reassociated == frozenset()
    refused(text.replace("B[0] + A[k]", "T.max(B[0], A[k])"), LowerThreadAllreduce(reassociate=("B",)), "is NaN")


@pytest.mark.parametrize("threads", ["3", "1", "0", '"x"', "T.bool(True)"])
def test_numbers_of_threads(threads: str) -> None:
    refused(program(SUM.format(32, 0, threads), INTS), LowerThreadAllreduce(), "which is not a power of two")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("B[0] = A[k]", "is not an update B[x] = B[x] + e"),
        ("B[0] = B[0] + A[k]\n    A[k] = 0", "is not one update of a result"),
        ("B[0] = B[0] + B[0]", "is read in the nest other than by its own update"),
        ("A[k] = A[k] + 1", "that is updated changes in the nest"),
        ("B[0] = B[0] - A[k]", "sub on int32 is not associative"),
    ],
)
def test_what_is_no_reduction(body: str, words: str) -> None:
    text = f'for k in T.serial(32, annotations={{"thread_allreduce": 4}}):\n    {body}'
    refused(program(text, INTS), LowerThreadAllreduce(), words)
