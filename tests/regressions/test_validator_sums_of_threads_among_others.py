"""Nothing says in which order threads combine floats, but that was said only if no reduction of the kind was in the
other program: a second sum that threads take hid behind a first one, and two that trade places behind each other."""

from __future__ import annotations

import pytest

from verified_tir import parse_func
from verified_tir.ir.func import PrimFunc
from verified_tir.validate import Equal, EqualOverReals, validate

HEAD = """\
@T.prim_func
def f(A: T.Buffer((4,), "{0}"), C: T.Buffer((4,), "{0}"), B: T.Buffer((1,), "{0}"), D: T.Buffer((1,), "{0}")):
"""
THREADS = """\
    for tx in T.thread_binding(4, thread="threadIdx.x"):
        r = T.alloc_buffer((1,), "{0}", scope="local")
        with T.attr(T.comm_reducer(lambda x0, y0: x0 + y0, [T.{0}(0)]), "reduce_scope", 0):
            T.tvm_thread_allreduce(T.uint32(1), {1}[tx], T.bool(True), r[0], tx)
        if tx == 0:
            {2}[0] = r[0]
"""
SERIAL = """\
    for k in range(4):
        if k == 0:
            {2}[0] = {1}[k]
        else:
            {2}[0] = {2}[0] + {1}[k]
"""


def program(first: str, second: str, dtype: str = "float32", source: str = "C") -> PrimFunc:
    return parse_func((HEAD + first.format("{0}", "A", "B") + second.format("{0}", source, "D")).format(dtype))


@pytest.mark.parametrize("source", ["C", "A"])
@pytest.mark.parametrize("other", [(THREADS, SERIAL), (SERIAL, THREADS), (SERIAL, SERIAL)])
def test_sums_that_only_one_program_takes_over_threads(source: str, other: tuple[str, str]) -> None:
    both, some = program(THREADS, THREADS, source=source), program(*other, source=source)
    for pair in ((both, some), (some, both)):
        found = validate(*pair).verdict
        assert isinstance(found, EqualOverReals) and "in an order that is not fixed" in str(found)
    assert isinstance(validate(both, both).verdict, Equal)
    assert isinstance(validate(some, some).verdict, Equal)


@pytest.mark.parametrize("source", ["C", "A"])
def test_sums_that_trade_places(source: str) -> None:
    one, other = program(THREADS, SERIAL, source=source), program(SERIAL, THREADS, source=source)
    assert isinstance(validate(one, other).verdict, EqualOverReals)


def test_integers_have_any_order() -> None:
    one, other = program(THREADS, SERIAL, "int32"), program(THREADS, THREADS, "int32")
    assert isinstance(validate(one, other).verdict, Equal)


def test_what_is_made_of_a_sum() -> None:
    scaled = THREADS.replace("= r[0]", "= r[0] * r[0] + {1}[1]")
    other = THREADS.replace("= r[0]", "= {1}[1] + r[0] * r[0]").replace("r = ", "s = ").replace("r[", "s[")
    assert isinstance(validate(program(scaled, SERIAL), program(other, SERIAL)).verdict, Equal)
    squared = SERIAL + "    {2}[0] = {2}[0] * {2}[0] + {1}[1]\n"
    assert isinstance(validate(program(scaled, THREADS), program(squared, THREADS)).verdict, EqualOverReals)
