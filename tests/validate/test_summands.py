"""Float sums in another order, found by their summands alone."""

import numpy as np

from verified_tir.ir.dtype import DType
from verified_tir.validate.decide import same_summands
from verified_tir.validate.operators import Builder
from verified_tir.validate.terms import Terms

F32, F16, I32 = (DType.parse(t) for t in ("float32", "float16", "int32"))


def total(build: Builder, dtype: DType, terms: list[int]) -> int:
    found = np.array([terms[0]])
    for term in terms[1:]:
        found = build.binary("add", dtype, found, np.array([term]))
    return int(found[0])


def test_the_same_summands_in_another_order():
    build = Builder(Terms())
    x = build.terms.sequence("input:0", F32, 4).tolist()
    one = total(build, F32, x)
    assert same_summands(build.terms, one, total(build, F32, x[::-1]))
    assert not same_summands(build.terms, one, total(build, F32, [x[0], x[1], x[2], x[2]]))
    assert not same_summands(build.terms, one, total(build, F32, x[:3]))
    assert not same_summands(build.terms, x[0], x[0])  # no sums


def test_zeros_count_once_and_types_count():
    build = Builder(Terms())
    x = build.terms.sequence("input:0", F32, 2).tolist()
    zero = build.terms.constant(F32, 0.0)
    once, twice = total(build, F32, [zero, *x]), total(build, F32, [zero, x[1], zero, x[0]])
    assert once != twice and same_summands(build.terms, once, twice)
    assert not same_summands(build.terms, once, total(build, F32, x))  # -0.0 + -0.0
    half = build.terms.sequence("input:1", F16, 2).tolist()
    assert not same_summands(build.terms, total(build, F32, x), total(build, F16, half))
    whole = build.terms.sequence("input:2", I32, 3).tolist()
    assert not same_summands(build.terms, total(build, I32, whole), total(build, I32, whole))


def test_sums_of_sums_are_taken_apart_once():
    build = Builder(Terms())
    x, y = build.terms.sequence("input:0", F32, 2).tolist()

    def doubled(first: int, second: int) -> int:
        found = total(build, F32, [first, second])
        for _ in range(200):
            found = total(build, F32, [found, found])
        return found

    def beside(first: int, second: int) -> int:  # as many of each, one by one
        return total(build, F32, [doubled(first, first), doubled(second, second)])

    assert same_summands(build.terms, total(build, F32, [doubled(x, y), doubled(x, y)]), beside(x, y))
    assert not same_summands(build.terms, doubled(x, y), beside(x, y))
    assert not same_summands(build.terms, total(build, F32, [doubled(x, y), x]), doubled(x, y))
